import type { Engine } from '../engine.ts';
import { noteDeliveredThrough } from '../health/delivered_through.ts';
import { noteStates } from '../health/state.ts';
import { notePlannerLag } from '../runs/plan_due_exports.ts';

/** Sets the metrics of all exports: planning delay, states and progress. */
export async function noteExports(engine: Engine): Promise<void> {
  await Promise.all([notePlannerLag(engine), noteStates(engine), noteDeliveredThrough(engine)]);
}
