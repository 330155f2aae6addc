import { Response } from 'undici';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import { readBounded } from '../../../platform/read_bounded.ts';
import type { PluginOutbound } from '../sandbox/network/plugin_sockets.ts';
import { cutText, keepFew } from './kept.ts';

/** A body for display: null if it is no text. */
type TrialBody = { text: string | null; size_bytes: number };

/** A request of a plugin in a trial. `answer`: null if it was not sent, or was not answered. */
export type TrialRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: TrialBody | null;
  is_sent: boolean;
  answer: { status: number; headers: Record<string, string>; body: TrialBody } | null;
  error: string | null;
};

const answer_bytes_max = 5 * 1024 * 1024;
const without_body = new Set([204, 205, 304]);

/**
 * Opens an outbound access that records each request. Without `sends`, nothing leaves the server,
 * and each request is answered with 200 and `{}`.
 */
export function openTrialRequests(outbound: PluginOutbound, sends: boolean) {
  const requests = keepFew<TrialRequest>(100);
  const fetch: Outbound['fetch'] = async (url, init = {}) => {
    const noted: TrialRequest = {
      method: init.method ?? 'GET',
      url: cutText(String(url)),
      headers: headersOf(init.headers as Iterable<[string, string]> | undefined),
      body: Buffer.isBuffer(init.body) ? bodyOf(init.body) : null,
      is_sent: sends,
      answer: null,
      error: null,
    };
    requests.add(noted);
    if (!sends) return new Response('{}', { headers: { 'content-type': 'application/json' } });
    try {
      const response = await outbound.fetch(url, init);
      const said = 'The answer has more than 5 MiB.';
      const bytes = await readBounded(
        response.body ?? [],
        answer_bytes_max,
        () => new RangeError(said),
      );
      const { status, statusText, headers } = response;
      noted.answer = { status, headers: headersOf(headers), body: bodyOf(bytes) };
      return new Response(without_body.has(status) ? null : bytes, {
        status,
        statusText,
        headers: [...headers],
      });
    } catch (error) {
      noted.error = reasonOf(error);
      throw error;
    }
  };
  const connect: Outbound['connect'] = async (host, port) => {
    const noted: TrialRequest = {
      method: 'CONNECT',
      url: cutText(`${host}:${port}`),
      headers: {},
      body: null,
      is_sent: sends,
      answer: null,
      error: null,
    };
    requests.add(noted);
    if (!sends || outbound.connect === undefined)
      throw new OutboundRefused(`A trial without sending does not connect to ${host}:${port}.`);
    return outbound.connect(host, port).catch((error: NodeJS.ErrnoException) => {
      noted.error = error instanceof OutboundRefused ? error.message : `${error.code}.`;
      throw error;
    });
  };
  return { fetch, connect, requests: requests.kept, omitted: requests.omitted };
}

/**
 * Returns why there is no answer. Only shows a cause's code, because its message may contain
 * internal addresses.
 */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  const code = (cause as { code?: unknown } | undefined)?.code;
  if (name === 'TimeoutError') return 'No answer came in time.';
  return typeof code === 'string' ? `The request failed: ${code}.` : message;
}

function headersOf(headers: Iterable<[string, string]> = []): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, cutText(value)]));
}

function bodyOf(bytes: Buffer): TrialBody {
  return { text: textOf(bytes), size_bytes: bytes.length };
}

function textOf(bytes: Buffer): string | null {
  try {
    return cutText(new TextDecoder('utf-8', { fatal: true }).decode(bytes)).replaceAll(
      '\0',
      '\u{fffd}',
    );
  } catch {
    return null;
  }
}
