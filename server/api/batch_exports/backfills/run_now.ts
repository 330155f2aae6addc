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
 * Starts a backfill that delivers all missing rows ingested from the last planned interval until
 * now. Later runs of the schedule and other calls leave these rows out, so no row is delivered
 * twice. If the table is replaced, one run delivers all rows. The caller holds the lock on the
 * export. Throws 409 outside of the schedule, and if the export waits since a restore.
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
