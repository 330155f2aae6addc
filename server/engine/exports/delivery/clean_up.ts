import { abandon, lookForDelivery } from './abandon.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { openAttempt } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import { openStepClock } from './step_clock.ts';

/** Removes everything uncommitted that a run has left at its destination, like `abandon`. */
export async function cleanUp(engine: Engine, run: ClaimedRun): Promise<void> {
  const attempt = attemptToClean(engine, run);
  if (attempt !== undefined) await abandonAttempt(attempt);
}

/**
 * Checks whether the delivery of a run exists whose commit got no answer, like `lookForDelivery`.
 */
export async function findDelivery(engine: Engine, run: ClaimedRun): Promise<boolean | undefined> {
  const attempt = attemptToClean(engine, run);
  // A delivery that replaces another one overwrites existing files in any case.
  if (attempt === undefined || run.replaces !== null) return undefined;
  const { definition, config, delivery } = attempt;
  const { is_settled_by_abort: settles } = definition;
  const is_settled = typeof settles === 'function' ? settles(config) : settles === true;
  return lookForDelivery(engine, run, is_settled, (signal) =>
    definition.open(config, delivery, destinationDeps(engine, signal)),
  );
}

/** Undefined for a destination that this server does not know or cannot sign in to. */
function attemptToClean(engine: Engine, run: ClaimedRun): Attempt | undefined {
  try {
    return openAttempt(engine, run, new AbortController().signal, openStepClock(run));
  } catch {
    return undefined;
  }
}

/** Removes everything uncommitted that an attempt has left at its destination, like `abandon`. */
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
