import ivm from 'isolated-vm';
import { metrics_length_max, text_length_max } from '../limits.ts';
import type { OrderMessage, ReportMessage } from '../protocol.ts';
import type { Semaphore } from '../../../../platform/pacing/semaphore.ts';
import { openAllowance } from './allowance.ts';
import type { Allowance } from './allowance.ts';
import { computeFor } from './compute.ts';
import { openStretches } from './stretches.ts';
import type { Stretches } from './stretches.ts';
import { thrownText } from '../thrown.ts';

/**
 * One plugin in its isolate. No member throws or rejects: reports contain the results. After a
 * `fault`, all members do nothing.
 */
export type PluginIsolate = {
  call(order: Extract<OrderMessage, { type: 'call' }>): void;
  reply(order: Extract<OrderMessage, { type: 'reply' }>): void;
  /** Reports the stack at which the plugin waits. */
  where(): void;
  dispose(): void;
};

type LoadOrder = Extract<OrderMessage, { type: 'load' }>;
type Report = (message: ReportMessage) => void;
type Enter = (
  kind: string,
  number: number,
  first?: ivm.Transferable,
  second?: string,
) => Promise<unknown>;
type Send = (kind: unknown, number: unknown, name: unknown, text: unknown) => string;

const not_loaded: Enter = async () => {};

/**
 * Opens an isolate, runs `code` in it and reports `returned` with its capabilities, or `thrown`.
 * Only numbers and strings cross its border; it has two functions of ours (see guest/bridge.ts),
 * and we have one of its functions. It is entered for one stretch of code at a time, each with a
 * time limit, and only during a call: between calls, nothing of a plugin runs.
 */
export function openIsolate(
  order: LoadOrder,
  guest: string,
  permits: Semaphore,
  report: Report,
): PluginIsolate {
  const { instance, limits } = order;
  let enter = not_loaded;
  const isolate = new ivm.Isolate({
    memoryLimit: limits.memory_megabytes,
    onCatastrophicError: () => stretches.giveUp(),
  });
  const findStack = () => stackOf(enter);
  const calls = openCalls(order, isolate, report, () => stretches.add(() => enter('idle', 0)));
  const { allowance } = calls;
  const { tellFault, tellUnheard } = openTellers(instance, allowance, report);
  const stretches = openStretches(isolate, limits, permits, {
    isProcessorUsedUp: () => calls.isAny() && allowance.isProcessorUsedUp(),
    findStack,
    onFault: tellFault,
    onError: (error) =>
      enter === not_loaded ? calls.settleAll(thrownText(error)) : tellUnheard(thrownText(error)),
  });
  const { present, asking, answered, addFor, resume } = openCauses(stretches, calls.rests);
  const send = receiver({
    isCalled: calls.isAny,
    settle: calls.settle,
    allowance,
    present,
    ring: (timer, call) => resume(call, () => enter('ring', timer)),
    report: (message) => report({ ...asking(message), instance }),
  });

  calls.begin(order.call);
  addFor(order.call, () =>
    load(isolate, order, guest, send, (made) => {
      enter = made;
    }),
  );
  return {
    call: ({ call, method, text }) => {
      calls.begin(call);
      addFor(call, () => enter('call', call, method, text));
    },
    // Answers after the end of the requesting call are dropped; failures are reported.
    reply: ({ request, name, is_ok, text }) => {
      const call = answered(request);
      const late = (): void => (is_ok ? undefined : tellUnheard(text, name));
      if (!allowance.giveRequestBack(request)) late();
      else resume(call, () => enter('reply', request, is_ok, text), late);
    },
    where: () =>
      stretches.add(async () => report({ type: 'where', instance, stack: await findStack() })),
    dispose: () => {
      allowance.end();
      stretches.dispose();
    },
  };
}

/**
 * The calls in progress and their remaining resources; `onRest` is called when the last has ended.
 */
function openCalls(
  { instance, limits }: LoadOrder,
  isolate: ivm.Isolate,
  report: Report,
  onRest: () => void,
) {
  const calls = new Set<number>();
  let rests = 0;
  const allowance = openAllowance(
    limits,
    () => calls.size,
    () => (isolate.isDisposed ? 0n : isolate.cpuTime),
  );
  const settle = (type: 'returned' | 'thrown', call: number, text: string): void => {
    if (!calls.delete(call)) return;
    report({ type, instance, call, text });
    if (calls.size > 0) return;
    rests += 1;
    allowance.end();
    onRest();
  };
  return {
    allowance,
    isAny: () => calls.size > 0,
    /** Number of the plugin's rests: work from before a rest does not continue after it. */
    rests: () => rests,
    begin: (call: number): void => {
      allowance.begin(calls.size === 0);
      calls.add(call);
    },
    settle,
    settleAll: (text: string): void => calls.forEach((call) => settle('thrown', call, text)),
  };
}

/**
 * Tracks the call for which code runs: one stretch runs at a time, and a reply or a timer continues
 * its requesting call.
 */
function openCauses(stretches: Pick<Stretches, 'add'>, rests: () => number) {
  let present: number | undefined;
  const askers = new Map<number, number | undefined>();
  const addFor = (call: number | undefined, run: () => unknown): void =>
    stretches.add(async () => {
      present = call;
      return run();
    });
  return {
    present: () => present,
    /** Records the requesting call. */
    asking: (word: Word): Word => {
      if (word.type === 'request') askers.set(word.request, word.call);
      return word;
    },
    /** Returns the requesting call. */
    answered: (request: number): number | undefined => {
      const call = askers.get(request);
      askers.delete(request);
      return call;
    },
    addFor,
    /** Does the same as `addFor` for work that ends at a rest of the plugin. */
    resume: (
      call: number | undefined,
      run: () => Promise<unknown>,
      late = (): void => undefined,
    ): void => {
      const begun = rests();
      addFor(call, () => (begun === rests() ? run() : late()));
    },
  };
}

/** Report the end of the isolate, and unhandled failures, as a line of its log. */
function openTellers(instance: number, allowance: Allowance, report: Report) {
  return {
    tellFault: (reason: 'timeout' | 'memory', is_stuck: boolean, stack: string): void => {
      allowance.end();
      report({ type: 'fault', instance, reason, is_stuck, stack: stack.slice(0, 20_000) });
    },
    tellUnheard: (text: string, request: string | null = null): void => {
      const [line] = allowance.takeLine('');
      if (line === '') report({ type: 'unheard', instance, request, text });
      else if (line !== undefined) report({ type: 'log', instance, level: 'warn', text: line });
    },
  };
}

async function stackOf(enter: Enter): Promise<string> {
  const stack = await enter('where', 0);
  return typeof stack === 'string' ? stack.slice(0, 20_000) : '';
}

/**
 * Creates the plugin's globals, returns the function that enters the isolate from then on, and runs
 * the code.
 */
async function load(
  isolate: ivm.Isolate,
  { call, code, setup, limits }: LoadOrder,
  guest: string,
  send: Send,
  give: (enter: Enter) => void,
): Promise<void> {
  const run = { timeout: limits.slice_milliseconds };
  const context = await isolate.createContext();
  const functions = [new ivm.Callback(send), new ivm.Callback(computeFor)];
  // Strict, because a stack trace of sloppy code exposes the functions on it.
  const source = `'use strict';\n${guest}\nreturn guest.start($0, $1);`;
  const created: unknown = await context.evalClosure(source, functions, {
    ...run,
    filename: 'platform.js',
    result: { reference: true },
  });
  const dispatch = created as ivm.Reference<(...parameters: ivm.Transferable[]) => void>;
  const enter: Enter = (kind, number, first, second) =>
    dispatch.apply(undefined, [kind, number, first, second], run);
  // One line is added, so the first line of the code is line 0.
  const script = await isolate.compileScript(
    `(function (module, exports, require) {\n${code}\n})`,
    { filename: 'plugin.js', lineOffset: -1 },
  );
  const factory: unknown = await script.run(context, { ...run, reference: true, release: true });
  give(enter);
  await enter(
    'load',
    call,
    (factory as ivm.Reference<unknown>).derefInto({ release: true }),
    setup,
  );
}

type Word =
  | { type: 'metrics'; text: string }
  | { type: 'log'; level: string; text: string }
  | { type: 'request'; request: number; call?: number; name: string; text: string };
type Receiving = {
  isCalled(): boolean;
  settle(type: 'returned' | 'thrown', call: number, text: string): void;
  allowance: Allowance;
  /** Returns the call for which the code runs. */
  present(): number | undefined;
  ring(timer: number, call: number | undefined): void;
  report(message: Word): void;
};

/**
 * Returns the function by which the isolate sends something. It answers with an empty text, or with
 * the reason of a refusal; it never throws.
 */
function receiver({ isCalled, settle, allowance, present, ring, report }: Receiving): Send {
  return (kind, number, name, text) => {
    if (
      typeof kind !== 'string' ||
      typeof number !== 'number' ||
      typeof name !== 'string' ||
      typeof text !== 'string'
    )
      return 'This value cannot be sent.';
    if (text.length > text_length_max)
      return `More than ${text_length_max} characters were given or returned: do it in parts.`;
    if (kind === 'returned' || kind === 'thrown') {
      allowance.whenSent(() => settle(kind, number, text));
      return '';
    }
    if (!isCalled()) return 'The call is over: await everything before a method ends.';
    const call = present();
    if (kind === 'timer')
      return allowance.takeTimer(number, Number(text), () => ring(number, call)) ?? '';
    if (kind === 'clear') allowance.giveTimerBack(number);
    if (kind === 'metrics') report({ type: 'metrics', text: text.slice(0, metrics_length_max) });
    if (kind === 'log')
      for (const line of allowance.takeLine(text))
        report({ type: 'log', level: name.slice(0, 5), text: line });
    if (kind !== 'request') return '';
    const by = call === undefined ? {} : { call };
    const service = name.slice(0, 40);
    const asked = { type: 'request', request: number, ...by, name: service, text } as const;
    return allowance.takeRequest(number, text.length, () => report(asked)) ?? '';
  };
}
