import { openStallTimer } from '../../../platform/pacing/stall_timer.ts';
import { accountedNames } from '../../destinations/formats/foreign_files.ts';
import type { Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import { takenOf } from '../../model/ledger/ledger.ts';
import { fromStored, unionOf } from '../../model/ledger/rectangles.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { destinationDeps } from '../engine.ts';
import { openConfig } from '../runs/run_input.ts';
import type { Comparing } from './compare.ts';
import { listSliceNames } from './deliveries.ts';
import type { DeliveryRange } from './deliveries.ts';
import { listForgotten } from './missing_deliveries.ts';
import { verifyPartsOf } from './verify_parts.ts';

const stall_milliseconds = 600_000;

/**
 * Finds the rows of a table outside everything that its export has delivered, is delivering, or had
 * delivered before a person took the delivery out of the ledger.
 */
export async function findStrangers(
  { engine, row, definition, signal }: Omit<Comparing, 'onRow'>,
  delivery: Delivery,
): Promise<Difference[]> {
  const { id, revision } = row;
  const taken = (await takenOf(engine.db, [{ id, revision }])).get(id) ?? [];
  const forgotten = await listForgotten(engine.db, row);
  const areas = unionOf([...taken, ...forgotten.flatMap(({ selection }) => fromStored(selection))]);
  return asked({ engine, signal }, (deps) =>
    definition.verify_areas!.findStrangers(openConfig(engine, id, row), delivery, areas, deps),
  );
}

/**
 * Finds the objects in the folders of the range's deliveries that belong to no delivery. Empty if a
 * comparison of deliveries has already searched for them.
 */
export async function findForeign(
  { engine, row, definition, signal }: Omit<Comparing, 'onRow'>,
  range: DeliveryRange,
): Promise<Difference[]> {
  const verify_parts = verifyPartsOf(definition, row.write_rule);
  if (verify_parts === undefined) return [];
  const all = await listSliceNames(engine.db, { ...range, start_at: null, end_at: null });
  const isAll = range.start_at === null && range.end_at === null;
  const looked_at = isAll ? all : await listSliceNames(engine.db, range);
  if (looked_at.length === 0) return [];
  return asked({ engine, signal }, (deps) =>
    verify_parts.findForeign(openConfig(engine, row.id, row), accountedNames(all, looked_at), deps),
  );
}

async function asked(
  { engine, signal }: Pick<Comparing, 'engine' | 'signal'>,
  ask: (deps: DestinationDeps) => Promise<Difference[]>,
): Promise<Difference[]> {
  const timer = openStallTimer(stall_milliseconds, 'It gave no answer for ten minutes.');
  try {
    const ending = AbortSignal.any([timer.signal, signal]);
    return await ask(destinationDeps(engine, ending, timer.refresh));
  } finally {
    timer.end();
  }
}
