import type { Readable } from 'node:stream';
import type { ClaimedRun, WorkStep } from '../../model/run.ts';

/** Tells the time of the steps of one attempt, as `AttemptSteps` says it. */
export type StepClock = {
  /** From now on, time belongs to this step; what has passed is in the run's own `steps`. */
  enter(step: WorkStep): void;
  /** As `enter`, where no step follows; what is entered later does not count. */
  stop(): void;
};

/**
 * Opens the clock of the attempt that has just begun at the run. Each millisecond belongs to one
 * step: together they are as long as the clock ran.
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
 * From now on the source is read, but for the times at which as much is on its way as there is room
 * for: then it is not the source that is waited for. After its last byte all is sending. `onEnd` is
 * called when that has come.
 */
export function followSource(clock: StepClock, source: Readable, onEnd: () => void): void {
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
