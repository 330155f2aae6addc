import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { parseJson } from '../../platform/json/parse_json.ts';
import { version } from '../../platform/version.ts';
import { UnreachableError } from '../user_error.ts';

/** A request to a server. `body` is sent as JSON. */
export type Asked = {
  method?: string;
  /** Path with its query. */
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
};

/** The answer of a server; `body` is undefined if it is no JSON. */
export type Answered = { status: number; text: string; body: unknown };

/** Longest silence of a server. */
const silence_ms_max = 120_000;
/** Largest answer that is read; answers to commands are far smaller. */
const answer_bytes_max = 64 * 1024 * 1024;

/**
 * Calls a server and returns its answer, whatever its status. Redirects are not followed, because a
 * key belongs to one address. Throws `UnreachableError` without a complete answer. Uses Node's own
 * client: the server's client takes longer to load than most commands run.
 */
export async function askServer(
  { address, key }: { address: string; key: string },
  { method = 'GET', path, body, headers = {} }: Asked,
): Promise<Answered> {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const request = address.startsWith('https:') ? requestHttps : requestHttp;
  const text = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const asking = request(
      `${address}${path}`,
      {
        method,
        timeout: silence_ms_max,
        headers: {
          accept: 'application/json',
          'user-agent': `sluice-cli/${version}`,
          ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
          ...(sent === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
          ...headers,
        },
      },
      (answer) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (part: Buffer) => {
          bytes += part.length;
          if (bytes > answer_bytes_max) asking.destroy(new Error('the answer is too large'));
          else parts.push(part);
        });
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
        );
      },
    );
    asking.on('timeout', () => asking.destroy(new Error('it did not answer in time')));
    asking.on('error', reject);
    asking.end(sent);
  }).catch((error: unknown) => {
    throw new UnreachableError(
      `The server at ${address} cannot be reached: ${reasonOf(error)}. Check the address (--url, ` +
        'SLUICE_URL or the profile), and that the server runs.',
    );
  });
  return { ...text, body: parseJson(text.text) };
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}
