import { once } from 'node:events';
import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenLocally } from '../servers/loopback.ts';

/**
 * The faults of a request. The connection is cut before the request is passed on, in the middle of
 * its body, or after the answer. Otherwise the request waits, is answered with 503, is passed on
 * twice, or has no fault.
 */
export const faults = [
  'cut before',
  'cut within',
  'cut after',
  'delay',
  '503',
  'repeat',
  'none',
] as const;

/** One fault of the list. */
export type Fault = (typeof faults)[number];

/** A proxy between clients and a server. */
export type FaultProxy = {
  address: string;
  /** The fault of each request with events, in their order. */
  happened: Fault[];
  /** The status of each answer to a request that was passed on, and what its client had sent. */
  answered: number[];
  sent: string[];
  /** Waits for requests in transit to the server, and ends. */
  close(): Promise<void>;
};

const delay_ms = 300;
/** Posts of browsers besides events: requests for flags, and metrics of the SDKs. */
const without_events = /^\/(flags|decide|s|v1\/m)\b/;

/**
 * Opens a proxy of the server. `next` returns the fault of the next request with events, which is
 * nearly every POST. Other requests have no fault. A beacon, whose answer nobody awaits, is
 * delayed. `instead` replaces every body with events.
 */
export async function openFaultProxy(
  address: string,
  next: () => Fault,
  instead?: Buffer,
): Promise<FaultProxy> {
  const happened: Fault[] = [];
  const answered: number[] = [];
  const sent: string[] = [];
  const under_way = new Set<Promise<void>>();
  const server = http.createServer((request, response) => {
    const handled = handle(request, response).catch(() => void request.socket.destroy());
    under_way.add(handled);
    void handled.then(() => under_way.delete(handled));
  });
  async function handle(request: http.IncomingMessage, response: http.ServerResponse) {
    const body = await buffer(request);
    const has_events = request.method === 'POST' && !without_events.test(request.url!);
    const fault = !has_events ? 'none' : isBeacon(request) ? 'delay' : next();
    if (has_events) happened.push(fault);
    const passed = has_events ? (instead ?? body) : body;
    await answer(address, { request, response, body: passed }, fault);
    if (!has_events) return;
    sent.push(body.toString('latin1'));
    answered.push(response.statusCode);
  }
  const { port, close } = await listenLocally(server);
  return {
    address: `http://127.0.0.1:${port}`,
    happened,
    answered,
    sent,
    close: async () => {
      while (under_way.size > 0) await Promise.all(under_way);
      await close();
    },
  };
}

type Exchange = { request: http.IncomingMessage; response: http.ServerResponse; body: Buffer };

/** A page that sends a beacon closes and never learns the outcome. */
function isBeacon({ headers }: http.IncomingMessage): boolean {
  return headers['sec-fetch-mode'] === 'no-cors';
}

async function answer(address: string, exchange: Exchange, fault: Fault): Promise<void> {
  const { request, response, body } = exchange;
  if (fault === 'cut before') return void request.socket.destroy();
  if (fault === '503') {
    response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
    if (request.headers.origin !== undefined)
      response.setHeader('access-control-allow-credentials', 'true');
    response.setHeader('retry-after', '1');
    response.writeHead(503).end();
    return;
  }
  if (fault === 'cut within') {
    await passOn(address, exchange, body.length / 2).catch(() => undefined);
    return void request.socket.destroy();
  }
  if (fault === 'delay') await new Promise((resume) => setTimeout(resume, delay_ms));
  if (fault === 'repeat') await passOn(address, exchange);
  const { status, headers, bytes } = await passOn(address, exchange);
  if (fault === 'cut after') return void request.socket.destroy();
  response.writeHead(status, headers).end(bytes);
}

type Passed = { status: number; headers: http.OutgoingHttpHeaders; bytes: Buffer };

/** Sends the request on; with `cut` the connection breaks after this many bytes of its body. */
async function passOn(address: string, { request, body }: Exchange, cut?: number): Promise<Passed> {
  const { 'transfer-encoding': _chunked, ...headers } = request.headers;
  const passed = http.request(`${address}${request.url}`, {
    method: request.method,
    headers: { ...headers, 'content-length': body.length, connection: 'close' },
  });
  if (cut === undefined) passed.end(body);
  else passed.write(body.subarray(0, cut), () => passed.destroy());
  const [answered] = (await once(passed, 'response')) as [http.IncomingMessage];
  const { connection: _kept, 'transfer-encoding': _sent, ...others } = answered.headers;
  return { status: answered.statusCode!, headers: others, bytes: await buffer(answered) };
}
