import type ivm from 'isolated-vm';
import type { SandboxLimits } from '../limits.ts';
import type { Semaphore } from '../../../../platform/pacing/semaphore.ts';

/**
 * Gets the failures of a stretch. `onFault` is called once, and again when a thread turns out to be
 * stuck; nothing runs after it.
 */
export type StretchEvents = {
  onFault(reason: 'timeout' | 'memory', is_stuck: boolean, stack: string): void;
  /**
   * Gets the errors of a stretch, such as a promise that rejects without a handler; waiting work
   * has already continued.
   */
  onError(error: unknown): void;
  isProcessorUsedUp(): boolean;
  /**
   * Returns the stack at which the code waits; an empty text for none. Only called while the
   * isolate is alive.
   */
  findStack(): Promise<string>;
};

/** The stretches of code of one isolate, one after the other. */
export type Stretches = {
  /** Queues `work`, which enters the isolate with its time limit. */
  add(work: () => Promise<unknown>): void;
  /** The thread does not return. */
  giveUp(): void;
  /** Ends the isolate and drops queued work. */
  dispose(): void;
};

// The engine's own limit ignores time that code waits for our two functions, so a loop that calls
// them ends after this.
const late_milliseconds = 250;
// After that: V8 checks for termination between steps of JavaScript, and some built-in functions
// are one long step.
const grace_milliseconds = 250;

/** Opens the queue of an isolate. None of its functions throws. */
export function openStretches(
  isolate: ivm.Isolate,
  limits: SandboxLimits,
  permits: Semaphore,
  events: StretchEvents,
): Stretches {
  let is_over = false;
  let is_late = false;
  let tail: Promise<void> = Promise.resolve();
  const dispose = (): void => {
    if (is_over) return;
    is_over = true;
    if (!isolate.isDisposed) isolate.dispose();
  };
  const fault = (reason: 'timeout' | 'memory', stack = ''): void => {
    if (is_over) return;
    events.onFault(reason, false, stack);
    dispose();
  };
  // Reported even for a disposed isolate: only the end of the process frees its thread.
  const giveUp = (): void => {
    is_over = true;
    events.onFault(isolate.isDisposed && !is_late ? 'memory' : 'timeout', true, '');
  };
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    if (is_over) return;
    let watch = setTimeout(() => {
      is_late = !isolate.isDisposed;
      if (is_late) isolate.dispose();
      watch = setTimeout(giveUp, grace_milliseconds);
    }, limits.slice_milliseconds + late_milliseconds);
    try {
      await work();
      if (events.isProcessorUsedUp()) fault('timeout', await events.findStack().catch(() => ''));
    } catch (error) {
      if (isolate.isDisposed) fault(is_late ? 'timeout' : 'memory');
      else if (error instanceof Error && error.message === 'Script execution timed out.')
        fault('timeout', error.stack);
      else events.onError(error);
    } finally {
      clearTimeout(watch);
    }
  };
  return {
    add: (work) => {
      tail = tail.then(() => permits.run(() => run(work)));
    },
    giveUp,
    dispose,
  };
}
