import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { OutboundRefused, ProxyFault } from '../../../platform/outbound/outbound_faults.ts';
import { shapeOf } from '../../../platform/shape.ts';
import type { Shape } from '../../../platform/shape.ts';
import { PluginError } from '../plugin.ts';
import {
  HostNotAllowed,
  HostNotFound,
  PluginRequest,
  fetchForPlugin,
} from './network/plugin_fetch.ts';
import { SocketPlace } from './network/plugin_sockets.ts';
import type { PluginOutbound, PluginSockets } from './network/plugin_sockets.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';
import { answerOf } from './network/noted_fetches.ts';
import type { ToolExchange } from './tool_outcome.ts';

/**
 * An event that a plugin adds to its project; the platform fills a missing `distinct_id` and
 * `timestamp`.
 */
export type CapturedEvent = {
  event: string;
  distinct_id: string | null;
  timestamp: string | null;
  properties: Record<string, unknown>;
};

/**
 * The platform's services for one plugin. The plugin chooses the keys; values are JSON, at most 1
 * MB of text each. A PluginError reaches the plugin with its sentence; any other error reaches it
 * as a RetryError without details.
 */
export type HostServices = {
  /** Permanent values; `get` returns undefined or null for a missing key. */
  storage: {
    get(key: string): Promise<unknown>;
    set(key: string, value: unknown): Promise<void>;
    del(key: string): Promise<void>;
  };
  /** Values that may be evicted; lists as in Redis. */
  cache: {
    get(key: string): Promise<unknown>;
    set(key: string, value: unknown, seconds: number | null): Promise<void>;
    incr(key: string, by: number): Promise<number>;
    expire(key: string, seconds: number): Promise<boolean>;
    lpush(key: string, values: unknown[]): Promise<number>;
    lrange(key: string, first: number, last: number): Promise<unknown[]>;
    llen(key: string): Promise<number>;
    lrem(key: string, count: number, value: unknown): Promise<number>;
    lpop(key: string, count: number): Promise<unknown[]>;
  };
  /** Resolves when the event is stored. */
  capture(event: CapturedEvent): Promise<void>;
  /** Must not throw. Lines have at most 4,096 characters. */
  log(level: 'debug' | 'log' | 'info' | 'warn' | 'error', message: string): void;
  /**
   * Must not throw. Adds the counts of a plugin's call, by metric; the plugin chooses the names.
   */
  count(values: Record<string, number>): void;
  /**
   * Must not throw. Records a fetch that was refused because the settings do not allow its host.
   */
  refused(hostname: string): void;
  /**
   * Must not throw. Returns true if the plugin itself needs the host. If only an event names a
   * missing host, the fault belongs to that event alone.
   */
  isNeeded(hostname: string): boolean;
  /** Resolves once the job is certain to run, `delay_ms` from now at the earliest. */
  runJob(name: string, payload: unknown, delay_ms: number): Promise<void>;
};

/** The parts that serve the requests of one plugin. `now` is in milliseconds since the epoch. */
export type HostApi = {
  host: HostServices;
  outbound: PluginOutbound;
  allowed_hosts: string[];
  /** Connections other than `fetch`; undefined for code that may open none. */
  sockets?: PluginSockets | undefined;
  /** Records a fetch; its outcome is added to the result. */
  note?: ((request: PluginRequest) => ToolExchange) | undefined;
  now(): number;
  signal: AbortSignal;
};

type Service = { shape: Shape<unknown>; serve(host_api: HostApi, parameters: unknown): unknown };

const value_length_max = 1_000_000;
const delay_milliseconds_max = 366 * 86_400_000;

const Key = Type.String({ minLength: 1, maxLength: 200 });
const Whole = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 });
const When = Type.Union([
  Type.Object({ delay_milliseconds: Type.Number({ minimum: 0, maximum: delay_milliseconds_max }) }),
  Type.Object({ at: Type.String({ format: 'date-time', maxLength: 40 }) }),
]);
const Event = Type.Object({
  event: Type.String({ minLength: 1, maxLength: 200 }),
  distinct_id: Type.Union([Type.String({ minLength: 1, maxLength: 400 }), Type.Null()]),
  // Ingestion decides whether the text is an instant, as for all events.
  timestamp: Type.Union([Type.String({ maxLength: 40 }), Type.Null()]),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

function service<Schema extends TSchema>(
  schema: Schema,
  serve: (host_api: HostApi, parameters: Static<Schema>) => unknown,
): Service {
  return { shape: shapeOf(schema), serve };
}

function of(sockets: PluginSockets | undefined): PluginSockets {
  if (sockets === undefined)
    throw new OutboundRefused('Only tools with a client of their own open connections.');
  return sockets;
}

const services: Record<string, Service> = {
  fetch: service(
    Type.Tuple([PluginRequest]),
    async ({ outbound, allowed_hosts, signal, note, ...host_api }, [request]) => {
      const noted = note?.(request);
      try {
        const response = await fetchForPlugin(outbound, allowed_hosts, request, signal);
        if (noted !== undefined) noted.answer = answerOf(response);
        return response;
      } catch (error) {
        const { message } = JSON.parse(refusalOf(host_api, 'fetch', error).text) as Error;
        if (noted !== undefined) noted.error = message;
        throw error;
      }
    },
  ),
  'socket.open': service(Type.Tuple([SocketPlace]), ({ sockets }, [place]) =>
    of(sockets).open(place),
  ),
  'socket.write': service(Type.Tuple([Whole, Type.String()]), ({ sockets }, [socket, bytes]) =>
    of(sockets).write(socket, bytes),
  ),
  'socket.read': service(Type.Tuple([Whole]), ({ sockets }, [socket]) => of(sockets).read(socket)),
  'socket.end': service(Type.Tuple([Whole]), ({ sockets }, [socket]) => of(sockets).end(socket)),
  'socket.close': service(Type.Tuple([Whole]), ({ sockets }, [socket]) =>
    of(sockets).close(socket),
  ),
  capture: service(Type.Tuple([Event]), ({ host }, [event]) => host.capture(event)),
  run_job: service(
    Type.Tuple([Key, Type.Unknown(), When]),
    ({ host, now }, [name, payload, when]) => {
      const delay_ms = 'at' in when ? Date.parse(when.at) - now() : when.delay_milliseconds;
      return host.runJob(name, payload, Math.min(Math.max(delay_ms, 0), delay_milliseconds_max));
    },
  ),
  'storage.get': service(Type.Tuple([Key]), ({ host }, [key]) => host.storage.get(key)),
  'storage.set': service(Type.Tuple([Key, Type.Unknown()]), ({ host }, [key, value]) =>
    host.storage.set(key, value),
  ),
  'storage.del': service(Type.Tuple([Key]), ({ host }, [key]) => host.storage.del(key)),
  'cache.get': service(Type.Tuple([Key]), ({ host }, [key]) => host.cache.get(key)),
  'cache.set': service(
    Type.Tuple([Key, Type.Unknown(), Type.Union([Whole, Type.Null()])]),
    ({ host }, [key, value, seconds]) => host.cache.set(key, value, seconds),
  ),
  'cache.incr': service(Type.Tuple([Key, Whole]), ({ host }, [key, by]) =>
    host.cache.incr(key, by),
  ),
  'cache.expire': service(Type.Tuple([Key, Whole]), ({ host }, [key, seconds]) =>
    host.cache.expire(key, seconds),
  ),
  'cache.lpush': service(
    Type.Tuple([Key, Type.Array(Type.Unknown(), { maxItems: 1_000 })]),
    ({ host }, [key, values]) => host.cache.lpush(key, values),
  ),
  'cache.lrange': service(Type.Tuple([Key, Whole, Whole]), ({ host }, [key, first, last]) =>
    host.cache.lrange(key, first, last),
  ),
  'cache.llen': service(Type.Tuple([Key]), ({ host }, [key]) => host.cache.llen(key)),
  'cache.lrem': service(Type.Tuple([Key, Whole, Type.Unknown()]), ({ host }, [key, count, value]) =>
    host.cache.lrem(key, count, value),
  ),
  'cache.lpop': service(Type.Tuple([Key, Whole]), ({ host }, [key, count]) =>
    host.cache.lpop(key, count),
  ),
};

/** An answer to a request: JSON of the result, or of the error's name and message. */
export type ServiceAnswer = { is_ok: boolean; text: string };

/** Serves one untrusted request: name, shape and size are checked first. Never rejects. */
export async function serveRequest(
  host_api: HostApi,
  name: string,
  text: string,
): Promise<ServiceAnswer> {
  const known = Object.hasOwn(services, name) ? services[name] : undefined;
  if (known === undefined) return refusal('Error', `The platform has no service ${name}.`);
  if (name !== 'fetch' && text.length > value_length_max)
    return refusal('RangeError', `${name} takes at most ${value_length_max} characters of JSON.`);
  const parameters = parseJson(text);
  if (!known.shape.is(parameters))
    return refusal(
      'TypeError',
      `${name} was called with wrong arguments: ${known.shape.fault(parameters)}.`,
    );
  try {
    return { is_ok: true, text: JSON.stringify((await known.serve(host_api, parameters)) ?? null) };
  } catch (error) {
    if (error instanceof HostNotAllowed) host_api.host.refused(error.hostname);
    return refusalOf(host_api, name, error);
  }
}

/** Returns the answer to a failed request. */
function refusalOf({ host }: Pick<HostApi, 'host'>, name: string, error: unknown): ServiceAnswer {
  if (
    error instanceof PluginError ||
    error instanceof OutboundRefused ||
    error instanceof RangeError
  )
    return refusal('Error', error.message);
  if (error instanceof HostNotFound && !host.isNeeded(error.hostname))
    return refusal('Error', `${error.message} Only data given to the plugin names it.`);
  if (error instanceof ProxyFault) return refusal('FetchError', error.message);
  if (name === 'fetch') return failedFetch(error as Error);
  if (name.startsWith('socket.')) return failedSocket(error as Error);
  return refusal('RetryError', `The platform could not do ${name} now.`);
}

function refusal(name: string, message: string): ServiceAnswer {
  return { is_ok: false, text: JSON.stringify({ name, message }) };
}

/** Only the code of the system's error: its text can contain internal addresses. */
function failedSocket({ code = 'UNKNOWN' }: NodeJS.ErrnoException): ServiceAnswer {
  return refusal('FetchError', `The connection failed: ${code}.`);
}

/**
 * Returns a FetchError without an answer, because such a call is retried. An invalid request (a bad
 * header) is a TypeError. undici says `fetch failed`, with the cause. Only the cause's code is
 * used, since its message can contain internal addresses.
 */
function failedFetch({ name, message, cause }: Error): ServiceAnswer {
  const code = (cause as { code?: unknown } | undefined)?.code;
  const lost =
    name === 'TimeoutError'
      ? 'no answer came in time'
      : typeof code === 'string'
        ? code
        : undefined;
  return refusal(
    lost === undefined ? 'TypeError' : 'FetchError',
    `The request failed: ${lost ?? message}.`,
  );
}
