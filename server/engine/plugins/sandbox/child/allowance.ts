import {
  log_line_length_max,
  log_lines_per_call_max,
  requests_open_length_max,
  requests_open_max,
  requests_per_call_max,
  timers_max,
} from '../limits.ts';
import type { SandboxLimits } from '../limits.ts';

/**
 * The resources that a plugin may still use in its current calls. The `take...` functions return
 * the reason if nothing is left.
 */
export type Allowance = {
  /** Starts a call; with `isFirst`, all counts restart. */
  begin(isFirst: boolean): void;
  /** Ends the last call: stops timers and drops open requests. */
  end(): void;
  isProcessorUsedUp(): boolean;
  /**
   * Returns the lines to log for one: the line, cut; or a note that there are too many; or none.
   */
  takeLine(text: string): string[];
  /** Calls `send` in the order of the requests, as soon as few enough are in progress. */
  takeRequest(request: number, length: number, send: () => void): string | undefined;
  /** Returns false if the request is not open. */
  giveRequestBack(request: number): boolean;
  /** Calls `then` when all earlier requests have been sent. */
  whenSent(then: () => void): void;
  /** Rings once after `milliseconds`, at most the length of a call. */
  takeTimer(timer: number, milliseconds: number, ring: () => void): string | undefined;
  giveTimerBack(timer: number): void;
};

/**
 * Counts what a plugin uses. `callsOpen` returns the number of calls in progress; `processorTime`
 * returns its isolate's processor time in nanoseconds.
 */
export function openAllowance(
  limits: SandboxLimits,
  callsOpen: () => number,
  processorTime: () => bigint,
): Allowance {
  const requests = openRequests(callsOpen);
  const timers = openTimers(callsOpen);
  let calls = 0;
  let requests_made = 0;
  let lines_written = 0;
  let processor_began = 0n;
  const end = (): void => {
    requests.end();
    timers.end();
  };
  return {
    begin: (isFirst) => {
      if (isFirst) {
        calls = requests_made = lines_written = 0;
        processor_began = processorTime();
      }
      calls += 1;
    },
    end,
    isProcessorUsedUp: () =>
      processorTime() - processor_began > BigInt(calls * limits.cpu_milliseconds) * 1_000_000n,
    takeLine: (text) => {
      lines_written += 1;
      if (lines_written > calls * log_lines_per_call_max)
        return lines_written === calls * log_lines_per_call_max + 1
          ? ['Further lines of this call are dropped.']
          : [];
      return [text.slice(0, log_line_length_max)];
    },
    takeRequest: (request, length, send) => {
      if (requests.openLength() + length > requests_open_length_max)
        return (
          `The open requests have more than ${requests_open_length_max} characters: await some ` +
          'of them.'
        );
      if (requests_made >= calls * requests_per_call_max)
        return (
          `The call has made ${requests_per_call_max} requests, the most that one call may ` +
          'make.'
        );
      requests_made += 1;
      requests.take(request, length, send);
      return undefined;
    },
    giveRequestBack: requests.giveBack,
    whenSent: requests.whenSent,
    takeTimer: timers.take,
    giveTimerBack: timers.giveBack,
  };
}

/**
 * The open requests: some in progress, the others waiting in order. Real plugins capture hundreds
 * of events without awaiting any.
 */
function openRequests(callsOpen: () => number) {
  const lengths = new Map<number, number>();
  const waiting: { is_request: boolean; run(): void }[] = [];
  let open_length = 0;
  let under_way = 0;
  const proceed = (): void => {
    for (;;) {
      const [next] = waiting;
      if (next === undefined) return;
      if (next.is_request && under_way >= requests_open_max * callsOpen()) return;
      waiting.shift();
      if (next.is_request) under_way += 1;
      next.run();
    }
  };
  const join = (is_request: boolean, run: () => void): void => {
    waiting.push({ is_request, run });
    proceed();
  };
  return {
    openLength: () => open_length,
    take: (request: number, length: number, send: () => void): void => {
      lengths.set(request, length);
      open_length += length;
      join(true, send);
    },
    giveBack: (request: number): boolean => {
      const length = lengths.get(request);
      if (length === undefined) return false;
      lengths.delete(request);
      open_length -= length;
      under_way -= 1;
      proceed();
      return true;
    },
    whenSent: (then: () => void): void => join(false, then),
    end: (): void => {
      lengths.clear();
      waiting.length = open_length = under_way = 0;
    },
  };
}

/**
 * Node's longest timer. A shorter limit would let a timer ring too early. A call that waits too
 * long is ended with its timers anyway.
 */
const wait_milliseconds_max = 2 ** 31 - 1;

/** The running timers. */
function openTimers(callsOpen: () => number) {
  const timers = new Map<number, NodeJS.Timeout>();
  const giveBack = (timer: number): void => {
    clearTimeout(timers.get(timer));
    timers.delete(timer);
  };
  return {
    take: (timer: number, milliseconds: number, ring: () => void): string | undefined => {
      if (timers.size >= timers_max * callsOpen())
        return `More than ${timers_max} timers are running.`;
      const wait = Math.min(Math.max(milliseconds || 0, 0), wait_milliseconds_max);
      timers.set(
        timer,
        setTimeout(() => {
          timers.delete(timer);
          ring();
        }, wait),
      );
      return undefined;
    },
    giveBack,
    end: () => {
      for (const timer of timers.keys()) giveBack(timer);
    },
  };
}
