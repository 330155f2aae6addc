import type { Static } from 'typebox';
import { shapeOf } from '../../../platform/shape.ts';
import { PluginCallError, faultError, readCode, thrownError } from './fault.ts';
import type { MappedCode } from './fault.ts';
import { serveRequest } from './host_services.ts';
import type { HostApi } from './host_services.ts';
import type { NotedFetches } from './network/noted_fetches.ts';
import { calls_max, fetches_max, requests_open_max, text_length_max } from './limits.ts';
import type { SandboxLimits } from './limits.ts';
import { openPluginSockets } from './network/plugin_sockets.ts';
import { openPlaces } from './places.ts';
import type { Places } from './places.ts';
import type { InstanceReport, ProcessHolder, PluginSlot } from './process_holder.ts';
import { CountedMetrics, Inspection } from './protocol.ts';
import type { OrderMessage } from './protocol.ts';
import { openSemaphore } from '../../../platform/pacing/semaphore.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

/**
 * The parts of an instance. `setup` is the JSON text of the code's setup; without a host_api, it
 * can make no requests.
 */
export type InstanceOptions = {
  code: string;
  setup: string;
  limits: SandboxLimits;
  host_api: Omit<HostApi, 'signal'> | undefined;
  opens_sockets?: boolean;
  holder: ProcessHolder;
};

/**
 * One plugin's code, loaded in a sandbox process. Every fault is a PluginCallError; after a fault
 * of the sandbox, or if `isGone`, the caller needs another instance.
 */
export type Instance = {
  inspection: Static<typeof Inspection>;
  readonly isGone: boolean;
  /**
   * Calls a method and returns its result as JSON text. Rejects with the signal's reason when it
   * aborts, and the instance is gone then. `noted` records the fetches of the call.
   */
  call(method: string, text: string, signal: AbortSignal, noted?: NotedFetches): Promise<string>;
  /** Ends it at once; calls in progress reject. */
  end(): void;
};

type Pending = {
  resolve(text: string): void;
  reject(error: unknown): void;
  noted: NotedFetches | undefined;
};

const levels = ['debug', 'log', 'info', 'warn', 'error'] as const;
const inspection = shapeOf(Inspection);
const counted = shapeOf(CountedMetrics);
// The sandbox counts requests of calls in progress; requests of an abandoned call may still be
// served.
const requests_served_max = 4 * calls_max * requests_open_max;

/** Loads code in a process, runs it and its `setupPlugin`, and resolves when that has succeeded. */
export async function openInstance(
  options: InstanceOptions,
  signal: AbortSignal,
): Promise<Instance> {
  const code = readCode(options.code);
  requireShort(code, options.setup);
  const pending = new Map<number, Pending>();
  const over = new AbortController();
  const places = openPlaces(code, () => slot);

  const leave = (reject: (call: number) => unknown): void => {
    over.abort();
    slot.detach();
    for (const [call, waiting] of pending) waiting.reject(reject(call));
    pending.clear();
  };
  const slot = await options.holder.attach({
    onReport: receiver({ ...options, code, pending, leave, over, places, slot: () => slot }),
    onEnd: () => leave(() => again('The sandbox process ended during the call: call again.')),
  });
  const isGone = (): boolean => over.signal.aborted || !slot.process.is_alive;
  const ask = asker(options.limits, slot, pending, leave, places);
  const { instance } = slot;
  try {
    const { setup, limits } = options;
    const text = await ask(
      (call) => ({ type: 'load', instance, call, code: code.text, setup, limits }),
      signal,
    );
    return {
      inspection: readInspection(text),
      get isGone() {
        return isGone();
      },
      call: async (method, payload, callSignal, noted) => {
        requireCallable(payload, isGone());
        const order = (call: number) =>
          ({ type: 'call', instance, call, method, text: payload }) as const;
        return ask(order, callSignal, noted);
      },
      end: () => leave(() => again('The plugin was unloaded during the call: call again.')),
    };
  } catch (error) {
    leave(() => error);
    throw error;
  }
}

/** Returns a fault after which the same call may be retried. */
function again(message: string): PluginCallError {
  return new PluginCallError('runtime', message, true);
}

function requireShort(code: MappedCode, setup: string): void {
  if (code.text.length + setup.length > text_length_max)
    throw new PluginCallError(
      'compile',
      `Compiled code, config and attachments have more than ${text_length_max} characters: ` +
        'make them smaller.',
      false,
    );
}

function requireCallable(payload: string, isGone: boolean): void {
  if (payload.length > text_length_max)
    throw new PluginCallError(
      'runtime',
      `The payload has more than ${text_length_max} characters of JSON.`,
      false,
    );
  if (isGone) throw again('The sandbox process ended before the call: call again.');
}

function readInspection(text: string): Static<typeof Inspection> {
  const found = parseJson(text);
  if (!inspection.is(found))
    throw new PluginCallError(
      'runtime',
      'The plugin exports more, or longer, names than can be kept: at most 100 of a kind.',
      false,
    );
  return found;
}

type Ask = (
  create: (call: number) => OrderMessage,
  signal: AbortSignal,
  noted?: NotedFetches,
) => Promise<string>;

/**
 * Returns the function that sends an order and waits for its end, at most for the time limit of a
 * call; an early end also ends the instance.
 */
function asker(
  limits: SandboxLimits,
  slot: PluginSlot,
  pending: Map<number, Pending>,
  leave: (reject: (call: number) => unknown) => void,
  places: Places,
): Ask {
  let last_call = 0;
  return (create, signal, noted) => {
    const call = (last_call += 1);
    const unwatch = slot.process.watch();
    const collateral = () =>
      new PluginCallError(
        'timeout',
        'Another call of the plugin was ended, and this one with it: call again.',
        true,
      );
    const endWith = (error: unknown) => leave((other) => (other === call ? error : collateral()));
    const abort = () => endWith(signal.reason);
    const late = async (): Promise<void> => {
      const place = await places.find();
      if (!pending.has(call)) return;
      const text =
        `The call took longer than ${limits.call_milliseconds / 1_000} ` +
        `s${place.file === undefined ? '' : ', and waited for this'}.`;
      endWith(new PluginCallError('timeout', text, false, place));
    };
    const timer = setTimeout(() => void late(), limits.call_milliseconds);
    signal.addEventListener('abort', abort);
    return new Promise<string>((resolve, reject) => {
      signal.throwIfAborted();
      pending.set(call, { resolve, reject, noted });
      slot.process.send(create(call));
    }).finally(() => {
      pending.delete(call);
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      unwatch();
    });
  };
}

type Receiving = Omit<InstanceOptions, 'code'> & {
  code: MappedCode;
  pending: Map<number, Pending>;
  leave(reject: (call: number) => unknown): void;
  over: AbortController;
  places: Places;
  slot(): PluginSlot;
};

type Request = { request: number; call?: number; name: string; text: string };

/**
 * Returns the function that serves a request of an instance, and records the fetches of its call.
 */
function server({
  pending,
  over,
  host_api,
  opens_sockets,
  slot,
}: Receiving): (asked: Request) => Promise<void> {
  let served = 0;
  const fetches = openSemaphore(fetches_max);
  const sockets =
    opens_sockets === true ? host_api && openPluginSockets(host_api, over.signal) : undefined;
  return async ({ request, call, name, text }) => {
    const { instance, process } = slot();
    const reply = (is_ok: boolean, result: string) =>
      process.send({ type: 'reply', instance, request, name, is_ok, text: result });
    if (host_api === undefined)
      return reply(
        false,
        refusal('Error', 'The plugin is only being looked at: ask for services in a method.'),
      );
    if (served >= requests_served_max)
      return reply(
        false,
        refusal('RetryError', 'Too many requests are being served: await some of them.'),
      );
    served += 1;
    const noted = call === undefined ? undefined : pending.get(call)?.noted;
    const note: HostApi['note'] = noted && ((fetched) => noted.add(fetched, pending.size === 1));
    const serve = () =>
      serveRequest({ ...host_api, sockets, note, signal: over.signal }, name, text);
    const { is_ok, text: result } = await (name === 'fetch' ? fetches.run(serve) : serve());
    served -= 1;
    if (over.signal.aborted) return;
    if (result.length > text_length_max)
      reply(false, refusal('RangeError', 'The answer is too long.'));
    else reply(is_ok, result);
  };
}

/** Returns the function that handles the process's reports on an instance. */
function receiver(receiving: Receiving): (report: InstanceReport) => void {
  const { code, pending, leave, host_api, limits, places } = receiving;
  const serve = server(receiving);
  const count = (text: string): void => {
    const values = parseJson(text);
    if (counted.is(values)) host_api?.host.count(values);
    else host_api?.host.log('warn', 'A count is dropped: a number is too large, or a name.');
  };
  return (report) => {
    if (report.type === 'returned') pending.get(report.call)?.resolve(report.text);
    else if (report.type === 'thrown')
      pending.get(report.call)?.reject(thrownError(report.text, code));
    else if (report.type === 'request') void serve(report);
    else if (report.type === 'unheard')
      host_api?.host.log('error', unheardText(report.request, report.text, code));
    else if (report.type === 'log')
      host_api?.host.log(levels.find((level) => level === report.level) ?? 'log', report.text);
    else if (report.type === 'metrics') count(report.text);
    else if (report.type === 'where') places.found(report.stack);
    else leave(() => faultError(report.reason, limits, code.locate(report.stack)));
  };
}

/** Returns a sentence for an unhandled failure. */
function unheardText(request: string | null, text: string, code: MappedCode): string {
  if (request === null) {
    const { message, file, line, column } = thrownError(text, code);
    const place = file === undefined ? '' : ` (${[file, line, column].join(':')})`;
    return `Something failed that the plugin did not await: ${message}${place}`;
  }
  const answer = parseJson(text) as { message?: unknown } | undefined;
  return `A ${request} that the plugin did not await failed: ${String(answer?.message)}`;
}

function refusal(name: string, message: string): string {
  return JSON.stringify({ name, message });
}
