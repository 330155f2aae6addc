import { isoInstant } from '../../../platform/clock.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Engine } from '../engine.ts';
import { writeRunLog } from '../../model/run_log.ts';
import type { LogLevel } from '../../model/run_log.ts';
import type { ClaimedRun } from '../../model/run.ts';

/** The bytes of a slice on their way to a destination. */
export type Flow = {
  /** Bytes that the destination has accepted. */
  taken(): number;
  /**
   * Returns true if the destination has read everything and waits for more: it does not count as
   * stalled then.
   */
  isStarved(): boolean;
};

/** A call of a destination; `doing` says in a few words what it does ("writing slice 1 of 3"). */
type Call = {
  doing: string;
  flow: Flow | undefined;
  began_at: number;
  taken: number;
  told_at: number;
  isMoving: boolean;
  giveUp(fault: Error): void;
};

/**
 * Times after a stall, in milliseconds, at which the run frees its slot, its log says so, and its
 * attempt ends. `farewell_ms`: time for the call to end connections and clean up before its outcome
 * is ignored. `tell_ms`: interval of progress lines in the log during a call.
 */
type Bounds = {
  slot_ms: number;
  warning_ms: number;
  limit_ms: number;
  farewell_ms: number;
  tell_ms: number;
  look_ms: number;
};

/** Returns the usual bounds, or fractions of a shorter limit. */
function boundsOf(limit_seconds: number): Bounds {
  const limit_ms = limit_seconds * 1000;
  const atMost = (usual_seconds: number, part: number) =>
    Math.min(usual_seconds * 1000, limit_ms / part);
  return {
    slot_ms: atMost(30, 8),
    warning_ms: atMost(60, 4),
    limit_ms,
    farewell_ms: atMost(10, 1),
    tell_ms: atMost(300, 3),
    look_ms: atMost(1, 16),
  };
}

/**
 * Watches the calls of one attempt to its destination. Guarantees: the attempt stops waiting for a
 * destination after `destination_silence_seconds_max` without progress, whether or not the
 * destination heeds its signal. The run's log reports a stall at growing intervals, and once when
 * it ends. Progress is a byte read, an answer (`noteProgress`), or the end of a call; time that the
 * source takes does not count.
 */
export class StallWatch {
  /** For the destination: aborted with the attempt's own signal, or at the limit. */
  readonly signal: AbortSignal;
  private readonly limit = new AbortController();
  private readonly bounds: Bounds;
  private readonly engine: Engine;
  private readonly run: ClaimedRun;
  private readonly onStall: (isStalled: boolean) => void;
  private readonly timer: NodeJS.Timeout;
  private call: Call | undefined;
  private fault: RetryableError | undefined;
  private farewell: NodeJS.Timeout | undefined;
  private heard_at = performance.now();
  private looked_at = performance.now();
  private warned_ms = 0;
  private isStalled = false;
  private said: Promise<void> = Promise.resolve();

  /**
   * @param onStall told when the run stalls, so that it takes no slot from others,
   * called again when it continues
   */
  constructor(
    engine: Engine,
    run: ClaimedRun,
    signal: AbortSignal,
    onStall: (isStalled: boolean) => void,
  ) {
    this.engine = engine;
    this.run = run;
    this.onStall = onStall;
    this.bounds = boundsOf(engine.destination_silence_seconds_max);
    this.signal = AbortSignal.any([signal, this.limit.signal]);
    this.timer = setInterval(() => this.look(), this.bounds.look_ms);
  }

  /**
   * Runs a call, one at a time, and returns its result. Rejects with `timed_out` at the limit,
   * otherwise like the call.
   */
  async during<Result>(doing: string, work: () => Promise<Result>, flow?: Flow): Promise<Result> {
    const { promise: givenUp, reject: giveUp } = Promise.withResolvers<never>();
    const began_at = performance.now();
    this.beginAnew();
    this.call = { doing, flow, began_at, taken: 0, told_at: began_at, isMoving: false, giveUp };
    if (this.fault !== undefined) this.sayFarewell(this.call, this.fault);
    try {
      const result = await Promise.race([work(), givenUp]);
      if (this.fault === undefined) this.noteProgress();
      this.call = undefined;
      // Keeps the lines of the log in order.
      await this.said;
      return result;
    } catch (error) {
      throw this.fault ?? error;
    } finally {
      clearTimeout(this.farewell);
      this.call = undefined;
      this.beginAnew();
    }
  }

  /** The destination has answered or read something, so its stall is over. */
  private readonly warned = new Set<string>();

  /** Writes a warning of the destination to the run's log, each text once. */
  readonly warnOnce = (sentence: string): void => {
    if (this.warned.has(sentence)) return;
    this.warned.add(sentence);
    this.say('WARNING', sentence);
  };

  readonly noteProgress = (): void => {
    if (this.call === undefined || this.fault !== undefined) return;
    this.call.isMoving = true;
    if (this.warned_ms > 0)
      this.say(
        'INFO',
        `The destination continues after ${inSeconds(performance.now() - this.heard_at)} ` +
          'without progress.',
      );
    this.beginAnew();
  };

  /** Stops everything that the destination still does. */
  stop(): void {
    this.limit.abort(new Error('Another slice of the run has failed.'));
  }

  /** Ends the watch; resolves when its lines are in the log. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    clearTimeout(this.farewell);
    await this.said;
  }

  private beginAnew(): void {
    this.heard_at = performance.now();
    this.warned_ms = 0;
    this.setStalled(false);
  }

  private look(): void {
    const { call, bounds } = this;
    const now = performance.now();
    // Time during which this process was suspended counts as no stall.
    const away_ms = now - this.looked_at - bounds.look_ms;
    if (away_ms > bounds.look_ms) this.heard_at = Math.min(now, this.heard_at + away_ms);
    this.looked_at = now;
    if (call === undefined || this.fault !== undefined) return;
    const taken = call.flow?.taken() ?? 0;
    if (taken !== call.taken || call.flow?.isStarved() === true) this.noteProgress();
    call.taken = taken;
    const stalled_ms = now - Math.min(now, this.heard_at);
    this.setStalled(stalled_ms >= bounds.slot_ms);
    if (stalled_ms >= bounds.limit_ms) this.end(call, stalled_ms);
    else if (stalled_ms >= Math.max(bounds.warning_ms, 2 * this.warned_ms))
      this.warn(call, stalled_ms);
    else this.tell(call);
  }

  private end(call: Call, stalled_ms: number): void {
    this.fault = new RetryableError(
      'timed_out',
      `The destination showed no progress for ${inSeconds(stalled_ms)} while ${call.doing}, so ` +
        'its connections were ended. Look there for a lock, a slow trigger or an overloaded ' +
        'server; ' +
        'if it needs so long, have the operator raise SLUICE_DESTINATION_SILENCE_SECONDS_MAX.',
    );
    this.limit.abort(new DOMException(this.fault.message, 'TimeoutError'));
    this.sayFarewell(call, this.fault);
  }

  private sayFarewell(call: Call, fault: RetryableError): void {
    this.farewell = setTimeout(() => call.giveUp(fault), this.bounds.farewell_ms);
  }

  private warn({ doing }: Call, stalled_ms: number): void {
    this.warned_ms = stalled_ms;
    const until = isoInstant(this.engine.clock.now() + this.bounds.limit_ms - stalled_ms);
    this.say(
      'WARNING',
      `The destination has shown no progress for ${inSeconds(stalled_ms)} while ${doing}. It ` +
        `is waited for until ${until}; then the attempt ends as timed_out.`,
    );
  }

  private tell(call: Call): void {
    const now = performance.now();
    if (now - call.told_at < this.bounds.tell_ms || !call.isMoving) return;
    Object.assign(call, { told_at: now, isMoving: false });
    const bytes = call.flow === undefined ? '' : `, ${call.taken} bytes`;
    this.say('INFO', `Still ${call.doing}: ${inSeconds(now - call.began_at)}${bytes} so far.`);
  }

  private setStalled(isStalled: boolean): void {
    if (this.isStalled === isStalled) return;
    this.isStalled = isStalled;
    this.onStall(isStalled);
  }

  /** One line after the other. A line that cannot be written must not end a delivery. */
  private say(level: LogLevel, message: string): void {
    const { id: run_id, batch_export_id } = this.run;
    this.said = this.said
      .then(() => writeRunLog(this.engine.db, { batch_export_id, run_id, level, message }))
      .catch((error: unknown) =>
        this.engine.log.warn({ err: error, run_id }, 'a line of the log could not be written'),
      );
  }
}

function inSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} s`;
}
