import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Note } from './note.ts';

type Headers = Record<string, unknown>;
type AwsRequest = {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Record<string, string | string[] | null>;
  headers: Headers;
  body?: unknown;
};
type Answered = { response: { statusCode: number; headers: Headers; body: unknown } };
type Handler = { handle(request: AwsRequest, options?: object): Promise<Answered> };
type Handlers = Record<'NodeHttpHandler' | 'NodeHttp2Handler', { prototype: Handler }>;

/** Clients by the folder of their destination. */
const clients: Partial<Record<string, string>> = {
  s3: '@aws-sdk/client-s3',
  'aws-kinesis': '@aws-sdk/client-kinesis',
};

/** Records the requests of a destination with an AWS client, and their answers. */
export function noteAws(library: NodeJS.Require, directory: string, note: Note): void {
  const client = clients[directory];
  if (client === undefined) return;
  const { NodeHttpHandler, NodeHttp2Handler } = createRequire(library.resolve(client))(
    '@smithy/node-http-handler',
  ) as Handlers;
  for (const { prototype } of [NodeHttpHandler, NodeHttp2Handler]) {
    const { handle } = prototype;
    prototype.handle = function (this: Handler, request, options) {
      const send = (): Promise<Answered> => Reflect.apply(handle, this, [request, options]);
      return asksForKeys(request) ? notedRefusal(request, note, send) : noted(request, note, send);
    };
  }
}

/** A request for credentials is signed for the service that issues them. */
function asksForKeys({ headers }: AwsRequest): boolean {
  return String(headers['authorization']).includes('/sts/aws4_request');
}

/**
 * Records a refused request for credentials without its body, which names the operator's role;
 * successful ones contain credentials and are not recorded.
 */
async function notedRefusal(
  request: AwsRequest,
  note: Note,
  send: () => Promise<Answered>,
): Promise<Answered> {
  const shown = { ...request, body: '' };
  let answered: Answered;
  try {
    answered = await send();
  } catch (error) {
    return noted(shown, note, async () => {
      throw error;
    });
  }
  const isRefused = answered.response.statusCode >= 400;
  return isRefused ? noted(shown, note, () => Promise.resolve(answered)) : answered;
}

function noted(request: AwsRequest, note: Note, send: () => Promise<Answered>): Promise<Answered> {
  const { method, headers, body } = request;
  const isBytes = typeof body === 'string' || body instanceof Uint8Array;
  const sent = {
    method,
    url: () => addressOf(request),
    headers: fieldsOf(headers),
    body: isBytes ? Buffer.from(body) : Buffer.alloc(0),
  };
  const work = async () => {
    const answered = await send();
    const { response } = answered;
    // The client accepts bytes like a stream, which can only be read once.
    response.body = new Uint8Array(await buffer(response.body as Readable));
    return answered;
  };
  return note(sent, work, ({ response }) => ({
    status: response.statusCode,
    headers: fieldsOf(response.headers),
    body: Buffer.from(response.body as Uint8Array),
  }));
}

/** Returns the header fields, without those that replace the first line in HTTP/2. */
function fieldsOf(headers: Headers): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(':') ? [] : [[name, String(value)] as [string, string]],
  );
}

function addressOf({ protocol, hostname, port, path, query = {} }: AwsRequest): string {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one ?? '']),
  );
  const place = port === undefined ? hostname : `${hostname}:${port}`;
  const search = new URLSearchParams(parameters).toString();
  return `${protocol}//${place}${path}${search === '' ? '' : `?${search}`}`;
}
