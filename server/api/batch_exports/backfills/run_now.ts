import { findWaitingSentence } from '../../../engine/exports/runs/hold_until_reconciled.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { conflict } from '../../../platform/http/errors.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import type { LockedExport } from '../store.ts';
import { boundaryAtOrBefore } from '../../../engine/exports/planning/interval.ts';
import { isReplacing } from '../../../engine/model/destination/write_mode.ts';
import { backfill } from './backfill.ts';
import type { Backfill } from './schema.ts';

/**
 * Starts the delivery of all rows ingested from the last planned interval until now, as a backfill
 * of the missing ones. The next run of the schedule subtracts them, and so does another call: no
 * row is delivered twice. A table that is replaced gets all rows, by one run. The caller holds the
 * lock on the export. Throws 409 outside of the schedule, and where the export waits since a
 * restore.
 */
export async function runNow(
  engine: Engine,
  tx: Transaction,
  place: Place,
  row: LockedExport,
): Promise<Backfill> {
  const waiting = await findWaitingSentence(tx, row.id);
  if (waiting !== undefined) throw conflict(waiting);
  if (row.next_run_at === null)
    throw conflict('The schedule has ended (end_at). Start a backfill to deliver a range.');
  const [from, now] = [Date.parse(row.planned_until), await databaseInstant(tx)];
  if (from >= now)
    throw conflict(`The schedule starts at ${isoInstant(from)}: there is nothing to deliver yet.`);
  const is_replaced = isReplacing(row.write_rule);
  const begin = is_replaced ? Math.max(from, boundaryAtOrBefore(row, now - 1)) : from;
  const asked = {
    start_at: isoInstant(begin),
    end_at: isoInstant(now),
    mode: 'missing',
    by: 'inserted_at',
  };
  return backfill(engine, tx, place, row, asked, {
    replaces_all: is_replaced,
    is_run_now: true,
  });
}
