import { abandon } from './abandon.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import type { ClaimedRun } from '../run.ts';
import { openAttempt } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import { openStepClock } from './step_clock.ts';

/** Removes what a run has left at its destination and not committed, as `abandon` does. */
export async function cleanUp(engine: Engine, run: ClaimedRun): Promise<void> {
  let attempt: Attempt;
  try {
    attempt = openAttempt(engine, run, new AbortController().signal, openStepClock(run));
  } catch {
    // A destination that this server does not know or cannot sign in to: there is nobody to ask for
    // the removal.
    return;
  }
  await abandonAttempt(attempt);
}

/** Removes what an attempt has left at its destination and not committed, as `abandon` does. */
export function abandonAttempt({
  engine,
  run,
  definition,
  config,
  delivery,
}: Attempt): Promise<void> {
  return abandon(engine, run, (signal) =>
    definition.open(config, delivery, destinationDeps(engine, signal)),
  );
}
