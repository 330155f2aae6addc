import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { request, Response } from 'undici';
import { listenLocally } from '../servers/loopback.ts';
import type { TrialFetch } from '../factories/plugins/tool_trials.ts';
import { faultsOf } from './checks.ts';
import type { Faulty } from './checks.ts';
import type { Vendor, VendorAnswer, VendorRoute } from './description.ts';
import { fill, valueAt } from './template.ts';

/** An event that a vendor accepted. */
type TakenEvent = { route: string; event: unknown; key: string | undefined };

/** A server that answers as the vendors document, each below its own hosts. */
export type VendorReceiver = {
  /** Leads a request for a vendor to this server. */
  fetch: TrialFetch;
  /** The accepted events of a vendor, in order, repeats included. */
  taken(vendor: Vendor): TakenEvent[];
  /** Events of `taken` without those that the vendor recognizes by their key. */
  kept(vendor: Vendor): TakenEvent[];
  /** The instants of the requests to a vendor, on the clock of `performance.now()`. */
  asked(vendor: Vendor): number[];
  /** Answers the next requests in this way. */
  next(vendor: Vendor, way: 'limited' | 'outage', count: number): void;
  /** Answers a request to a host, and records accepted events. */
  answer(host: string, incoming: IncomingMessage, body: Buffer): VendorAnswer;
  /** Faults of the description: requests without a route. */
  faults: string[];
  close(): Promise<void>;
};

type State = {
  vendor: Vendor;
  taken: TakenEvent[];
  keys: Set<string>;
  kept: TakenEvent[];
  asked: number[];
  next: ('limited' | 'outage')[];
};

const host_header = 'x-vendor-host';

/** Opens the server for these vendors. */
export async function openVendorReceiver(vendors: Vendor[]): Promise<VendorReceiver> {
  const states = vendors.map((vendor): State => ({
    vendor,
    taken: [],
    keys: new Set(),
    kept: [],
    asked: [],
    next: [],
  }));
  const faults: string[] = [];
  const stateOf = (vendor: Vendor) => states.find((one) => one.vendor === vendor)!;
  const answerTo: VendorReceiver['answer'] = (host, incoming, body) => {
    const state = states.find(({ vendor }) => vendor.hosts.includes(host));
    const answer =
      state === undefined
        ? { status: 404, body: `No vendor has the host ${host}.` }
        : answerOf(state, incoming, body);
    if (answer.status === 404 && typeof answer.body === 'string' && answer.body.startsWith('No '))
      faults.push(`${incoming.method} ${host}${incoming.url}: ${answer.body}`);
    return answer;
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const host = String(incoming.headers[host_header]);
    sendAnswer(response, answerTo(host, incoming, await buffer(incoming)));
  };
  const server = createServer(
    (incoming, response) => void serve(incoming, response).catch(() => response.destroy()),
  );
  const { port, close } = await listenLocally(server);
  return {
    fetch: async (address, init = {}) => {
      const { host, pathname, search } = new URL(address);
      const headers = [...(init.headers as [string, string][]), [host_header, host]];
      const answer = await request(`http://127.0.0.1:${port}${pathname}${search}`, {
        method: (init.method ?? 'GET') as 'GET',
        headers: headers.flat(),
        body: (init.body ?? null) as Buffer | null,
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const isEmpty = [204, 205, 304].includes(answer.statusCode);
      return new Response(isEmpty ? null : bytes, {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
      });
    },
    taken: (vendor) => stateOf(vendor).taken,
    kept: (vendor) => stateOf(vendor).kept,
    asked: (vendor) => stateOf(vendor).asked,
    next: (vendor, way, count) =>
      void stateOf(vendor).next.push(...Array.from({ length: count }, () => way)),
    answer: answerTo,
    faults,
    close,
  };
}

/** Answers a request to a vendor, and records accepted events. */
function answerOf(state: State, { method, url, headers }: IncomingMessage, body: Buffer) {
  const { vendor } = state;
  state.asked.push(performance.now());
  const address = new URL(url!, 'http://vendor');
  const routeOf = (path: string) =>
    vendor.routes.find(({ at }) => new RegExp(`^${at}$`).test(`${method} ${path}`));
  const route = routeOf(address.pathname + address.search) ?? routeOf(address.pathname);
  if (route === undefined) return { status: 404, body: `No route of ${vendor.name} is for this.` };
  const way = state.next.shift();
  if (way === 'outage') return filled(vendor.outage);
  if (way === 'limited') return filled(vendor.limited, restOf(vendor));
  const parsed = bodyOf(body, headers['content-type'] ?? '');
  if (route.is_open !== true && !isAuthorized(vendor, { headers, address, body: parsed }))
    return filled(vendor.unauthorized!);
  return taken(state, route, valueOf(route, parsed), body.length);
}

function taken(state: State, route: VendorRoute, body: unknown, bytes: number): VendorAnswer {
  const events = eventsOf(route, body);
  if (events.length > (route.count_max ?? Infinity) || bytes > (route.bytes_max ?? Infinity))
    return filled(route.too_large!, { count: events.length, bytes });
  const all = events.map((event, index) => ({ index, event, ...faultsOf(route, event)[0] }));
  const failed = all.filter((one): one is typeof one & Faulty => 'message' in one);
  const values = { all, failed, count: events.length, taken: events.length - failed.length };
  const spoils = failed.length > 0 && (events.length === 1 || route.is_whole === true);
  if (spoils) return filled(route.refused!, { ...values, ...failed[0] });
  const kept = route.is_read === true ? [] : all.filter((one) => !('message' in one));
  for (const { event } of kept) keep(state, route, event);
  return filled(failed.length > 0 ? route.partly! : route.ok, values);
}

function eventsOf({ events: paths = [] }: VendorRoute, body: unknown): unknown[] {
  const listed = paths.flatMap((path) => (path === '$' ? [] : (valueAt(body, path) ?? [])));
  return listed.length === 0 && paths.includes('$') ? [body].flat() : listed;
}

/** Records an event unless its key is known. */
function keep({ taken: all, keys, kept }: State, { at, key: path }: VendorRoute, event: unknown) {
  const key = path === undefined ? undefined : (valueAt(event, path) as string | undefined);
  const one = { route: at, event, key };
  all.push(one);
  if (key !== undefined && keys.has(key)) return;
  if (key !== undefined) keys.add(key);
  kept.push(one);
}

/** The values of a limit: the end of its window. */
function restOf({ limited: { rest_seconds } }: Vendor) {
  const seconds = rest_seconds ?? 1;
  return { seconds, epoch: Math.ceil(Date.now() / 1_000) + seconds };
}

function filled({ status, headers = {}, body }: VendorAnswer, values = {}): VendorAnswer {
  return {
    status,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(fill(value, values))]),
    ),
    body: fill(body, values),
  };
}

/** Writes the answer of a vendor. */
export function sendAnswer(
  response: ServerResponse,
  { status, headers = {}, body }: VendorAnswer,
): void {
  const isText = typeof body === 'string';
  const type = isText ? 'text/plain' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(body === undefined ? '' : isText ? body : JSON.stringify(body));
}

type Parsed = { json: unknown; form: URLSearchParams | undefined };

function bodyOf(body: Buffer, type: string): Parsed {
  const text = body.toString('utf8');
  if (type.startsWith('application/x-www-form-urlencoded')) {
    const form = new URLSearchParams(text);
    return { json: Object.fromEntries(form), form };
  }
  return { json: text === '' ? undefined : JSON.parse(text), form: undefined };
}

/** Returns the value with the events of a route: the body, or the JSON in a field of its form. */
function valueOf({ form: name }: VendorRoute, { json, form }: Parsed): unknown {
  return name === undefined ? json : JSON.parse(form?.get(name) ?? 'null');
}

function isAuthorized(
  { credential }: Vendor,
  sent: { headers: IncomingMessage['headers']; address: URL; body: Parsed },
): boolean {
  if (credential === null) return true;
  const { name, value } = credential;
  if (credential.in === 'header') return sent.headers[name] === value;
  if (credential.in === 'query') return sent.address.searchParams.get(name) === value;
  return valueAt(sent.body.json, name) === value;
}
