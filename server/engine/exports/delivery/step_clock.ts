import type { Readable } from 'node:stream';
import type { ClaimedRun, WorkStep } from '../../model/run.ts';

/** Measures the steps of one attempt, as `AttemptSteps` defines them. */
export type StepClock = {
  /** Starts a step. The elapsed time is in the run's own `steps`. */
  enter(step: WorkStep): void;
  /** Ends the last step; later calls of `enter` have no effect. */
  stop(): void;
};

/**
 * Opens the clock of a new attempt at the run. Each millisecond belongs to one step, so their sum
 * is the clock's running time.
 */
export function openStepClock(
  run: Pick<ClaimedRun, 'steps'>,
  now: () => number = () => performance.now(),
): StepClock {
  const steps = run.steps.at(-1);
  const sums: Record<WorkStep, number> = { counted: 0, read: 0, sent: 0, committed: 0 };
  let current: WorkStep | undefined;
  let entered_at = 0;
  let isOver = false;
  const leave = () => {
    const at = now();
    if (current !== undefined) {
      sums[current] += at - entered_at;
      if (steps !== undefined) steps[`${current}_ms`] = Math.round(sums[current]);
    }
    entered_at = at;
  };
  return {
    enter: (step) => {
      if (isOver) return;
      leave();
      current = step;
    },
    stop: () => {
      leave();
      current = undefined;
      isOver = true;
    },
  };
}

/**
 * Opens a clock for slices that are written at the same time: time counts as reading while one of
 * them reads. Each call returns the clock of one slice.
 */
export function shareClock(clock: StepClock): () => Pick<StepClock, 'enter'> {
  const reading = new Set<object>();
  return () => {
    const own = {
      enter: (step: WorkStep) => {
        if (step === 'read') reading.add(own);
        else reading.delete(own);
        clock.enter(reading.size > 0 ? 'read' : step);
      },
    };
    return own;
  };
}

/**
 * Counts time as reading from now on, except while the buffers are full: then the source is not the
 * bottleneck. After the source's last byte, all time counts as sending. Calls `onEnd` at that byte.
 */
export function followSource(
  clock: Pick<StepClock, 'enter'>,
  source: Readable,
  onEnd: () => void,
): void {
  let isRead = false;
  clock.enter('read');
  source.on('pause', () => clock.enter('sent'));
  source.on('resume', () => clock.enter(isRead ? 'sent' : 'read'));
  source.once('end', () => {
    isRead = true;
    clock.enter('sent');
    onEnd();
  });
}
