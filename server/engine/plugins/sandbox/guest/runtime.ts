import { setHome } from './api.ts';
import { fromText, platform, toText } from './bridge.ts';
import { giveElements } from './elements.ts';
import { readExports } from './exported.ts';
import type { Exported } from './exported.ts';
import { createMeta } from './meta.ts';
import type { Setup } from './meta.ts';
import { sendMetrics } from './metrics.ts';
import { globals, removed_globals, requireModule } from './modules.ts';
import { settle, stackOfOldest } from './requests.ts';
import { RetryError } from './retry_error.ts';
import { forgetTimers, ring, stackOfTimer } from './timers.ts';

type Factory = (
  module: { exports: unknown },
  exports: unknown,
  require: (name: unknown, needed?: readonly string[]) => unknown,
) => void;

// Methods that only get `meta`; so do the scheduled tasks.
const without_payload = /^(setupPlugin|teardownPlugin|getSettings|runEvery.*)$/;

let exported: Exported | undefined;
let meta: Record<string, unknown> = {};

/**
 * Creates the globals of a plugin in a new isolate and returns the only function that enters it.
 * Each entry runs the plugin's code until it yields, and never throws the plugin's errors: `send`
 * gets outcomes as `returned` or `thrown` with the number of the call.
 */
export function start(send: typeof platform.send, compute: typeof platform.compute) {
  platform.send = send;
  platform.compute = compute;
  for (const name of removed_globals) Reflect.deleteProperty(globalThis, name);
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  return (
    kind: 'load' | 'call' | 'reply' | 'ring' | 'where' | 'idle',
    number: number,
    first: unknown,
    second: string,
  ): string | void => {
    // The current wait of a call, requested before the call is ended for taking too long.
    if (kind === 'where') return placeOfWait();
    if (kind === 'load') void conclude(number, load(first as Factory, fromText(second) as Setup));
    else if (kind === 'call') void conclude(number, call(first as string, second));
    else if (kind === 'reply') settle(number, first === true, second);
    else if (kind === 'ring') ring(number);
    else forgetTimers();
  };
}

/** A plugin's own stack formatter can throw. */
function placeOfWait(): string {
  try {
    return cut(stackOfOldest() || stackOfTimer(), 20_000);
  } catch {
    return '';
  }
}

async function load(factory: Factory, setup: Setup): Promise<unknown> {
  setHome(setup.public_url);
  const module = { exports: {} as unknown };
  factory.call(module.exports, module, module.exports, requireModule);
  exported = readExports(module.exports);
  meta = createMeta(setup, exported.jobs, exported.inspection.metrics);
  if (!setup.is_inspection) await exported.find('setupPlugin')?.(meta);
  return exported.inspection;
}

async function call(method: string, text: string): Promise<unknown> {
  const run = exported?.find(method);
  if (run === undefined) throw new Error(`The plugin does not export ${method}.`);
  if (without_payload.test(method)) return run(meta);
  const payload = fromText(text);
  return run(method.startsWith('jobs.') ? payload : giveElements(payload), meta);
}

async function conclude(number: number, work: Promise<unknown>): Promise<void> {
  try {
    const text = toText(await work);
    sendMetrics();
    const refusal = platform.send('returned', number, '', text);
    if (refusal !== '') throw new Error(refusal);
  } catch (error) {
    // A plugin's changes to built-in objects can affect our own texts too.
    try {
      sendMetrics();
      platform.send('thrown', number, '', toText(describe(error)));
    } catch {
      platform.send('thrown', number, '', '');
    }
  }
}

function describe(error: unknown): Record<string, unknown> {
  try {
    const { name, message, stack } =
      error instanceof Error ? error : new Error(typeof error === 'string' ? error : toText(error));
    // A FetchError is a request without an answer: nothing is lost yet for a plugin that did not
    // catch it.
    const is_retry = error instanceof RetryError || name === 'RetryError' || name === 'FetchError';
    return {
      name: cut(name, 200),
      message: cut(message, 4_000),
      stack: cut(stack, 20_000),
      is_retry,
    };
  } catch {
    return {
      name: 'Error',
      message: 'The plugin threw something that cannot be described.',
      stack: '',
      is_retry: false,
    };
  }
}

function cut(value: unknown, length: number): string {
  return String(value).slice(0, length);
}
