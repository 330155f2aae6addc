import sql from 'sql-template-tag';
import { openStallTimer } from '../../../platform/pacing/stall_timer.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Delivery, DestinationDefinition } from '../../model/destination/destination.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { removeDelivered } from '../../model/ledger/ledger.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { listUncertain } from '../../model/ledger/uncertain.ts';
import type { UncertainDelivery } from '../../model/ledger/uncertain.ts';
import { writeRunLog } from '../../model/run_log.ts';
import { writtenBy } from '../../model/destination/write_mode.ts';
import { openConfig } from '../runs/run_input.ts';
import { listSlices, releaseDelivery } from '../runs/progress.ts';
import { columnsOf } from '../source/source_query.ts';
import type { WriteRule } from '../../model/destination/write_mode.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import type { ModelName } from '../../model/models/model.ts';

/** The export whose missing deliveries are searched. */
export type LookedAtExport = {
  id: string;
  name: string;
  team_id: number;
  revision: number;
  model: ModelName;
  custom_query: string | null;
  write_rule: WriteRule | null;
  /** The columns that its deliveries may have added to the table; null: properties are JSON. */
  typed_columns: TypedColumn[] | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
  timezone: string;
};

/**
 * A delivery whose rows later runs leave out. `uncertain`: its run ended during its commit;
 * otherwise its run completed. `is_there`: its receipt is at the destination; null if the
 * destination cannot tell.
 */
export type HeldDelivery = UncertainDelivery & { uncertain: boolean; is_there: boolean | null };

const stall_milliseconds = 120_000;

/**
 * Finds the export's deliveries that the ledger counts and whose receipt is missing at the
 * destination, and all uncertain ones. If the destination has no receipt, completed deliveries are
 * not judged: their table of receipts is gone, and the rows may still exist.
 */
export async function findHeldDeliveries(
  engine: Engine,
  row: LookedAtExport,
  definition: DestinationDefinition,
): Promise<HeldDelivery[]> {
  const uncertain = await listUncertain(engine.db, row.id);
  const completed = await listCompleted(engine, row);
  if (uncertain.length === 0 && completed.length === 0) return [];
  const receipts = await listReceipts(engine, row, definition);
  const isThere = ({ delivery_id }: UncertainDelivery) =>
    receipts === undefined ? null : receipts.has(delivery_id.slice(-12));
  const tells = receipts !== undefined && receipts.size > 0;
  return [
    ...uncertain.map((one) => ({ ...one, uncertain: true, is_there: isThere(one) })),
    ...completed
      .filter((one) => tells && isThere(one) === false)
      .map((one) => ({ ...one, uncertain: false, is_there: false })),
  ];
}

/** Lists the id suffixes of the deliveries at the destination; undefined if it cannot tell. */
async function listReceipts(
  engine: Engine,
  row: LookedAtExport,
  definition: DestinationDefinition,
): Promise<Set<string> | undefined> {
  if (definition.receipts === undefined) return undefined;
  const found = new Set<string>();
  const timer = openStallTimer(stall_milliseconds, 'It gave no answer for two minutes.');
  try {
    const deps = destinationDeps(engine, timer.signal, timer.refresh);
    // Reports every receipt as known, so that none is read.
    const isKnown = (delivery: string) => found.add(delivery.slice(-12)).size > 0;
    const wanted = { batch_export_id: row.id, timezone: row.timezone, isKnown };
    for await (const _ of definition.receipts(openConfig(engine, row.id, row), deps, wanted))
      timer.refresh();
    return found;
  } finally {
    timer.end();
  }
}

/** Lists the newest run of each completed delivery with rows, of the present revision. */
function listCompleted({ db }: Engine, row: LookedAtExport): Promise<UncertainDelivery[]> {
  return db.rows<UncertainDelivery>(sql`
    SELECT DISTINCT ON (delivery_id) id AS run_id, batch_export_id, delivery_id,
      data_interval_start, data_interval_end, selection, records_completed AS records, latest_error
    FROM batch_export_runs WHERE batch_export_id = ${row.id} AND revision = ${row.revision}
      AND status = 'Completed' AND records_completed > 0
      AND generation IS DISTINCT FROM 'replaced'
    ORDER BY delivery_id, finished_at DESC, created_at DESC`);
}

/**
 * Removes missing deliveries from the ledger, so that a backfill delivers their rows. Checks each
 * uncertain one again first, under the lock of its delivery, and removes its uncommitted parts.
 * Returns the removed ones.
 */
export async function forgetDeliveries(
  engine: Engine,
  row: LookedAtExport,
  definition: DestinationDefinition,
  found: HeldDelivery[],
): Promise<HeldDelivery[]> {
  const forgotten: HeldDelivery[] = [];
  for (const one of found) {
    if (one.is_there !== false) continue;
    if (one.uncertain && (await isShownAfterAll(engine, row, definition, one))) continue;
    await engine.db.transaction(async (tx) => {
      await tx.row(sql`SELECT 1 FROM batch_exports WHERE id = ${row.id} FOR UPDATE`);
      if (one.uncertain) {
        await releaseDelivery(tx, one);
        await sayForgotten(tx, one);
      } else await forgetDelivered(tx, row, one);
    });
    forgotten.push(one);
  }
  return forgotten;
}

const missing_sentence =
  'The destination no longer has this delivery as it was, so a person took it out of the ledger. ' +
  'A backfill brings its rows.';

/**
 * Removes a completed delivery from the ledger: its rows count as undelivered from now on. The
 * caller holds the lock on the export's row.
 */
export async function forgetDelivered(
  tx: Transaction,
  { id, revision }: Pick<LookedAtExport, 'id' | 'revision'>,
  one: Pick<UncertainDelivery, 'delivery_id' | 'run_id' | 'selection'>,
): Promise<void> {
  await tx.run(sql`
    UPDATE batch_export_runs SET status = 'Failed', error_code = 'delivery_missing',
      latest_error = ${missing_sentence}, committing_at = NULL, records_completed = 0,
      bytes_completed = 0, last_updated_at = now()
    WHERE batch_export_id = ${id} AND status = 'Completed'
      AND (id = ${one.delivery_id} OR (delivery_id = ${one.delivery_id}
        AND id <> delivery_id))`);
  const selection = fromStored(one.selection);
  await removeDelivered(tx, { batch_export_id: id, revision, selection });
  await sayForgotten(tx, { ...one, batch_export_id: id });
}

/** Lists the deliveries of a revision that a person took out of the ledger. */
export function listForgotten(
  db: Queryable,
  { id, revision }: Pick<LookedAtExport, 'id' | 'revision'>,
): Promise<Pick<UncertainDelivery, 'delivery_id' | 'selection'>[]> {
  return db.rows(sql`
    SELECT delivery_id, selection FROM batch_export_runs WHERE batch_export_id = ${id}
      AND revision = ${revision} AND status = 'Failed' AND error_code = 'delivery_missing'`);
}

async function sayForgotten(
  tx: Transaction,
  { batch_export_id, run_id }: Pick<UncertainDelivery, 'batch_export_id' | 'run_id'>,
): Promise<void> {
  const message = missing_sentence;
  await writeRunLog(tx, { batch_export_id, run_id, level: 'WARNING', message });
}

async function isShownAfterAll(
  engine: Engine,
  row: LookedAtExport,
  definition: DestinationDefinition,
  one: HeldDelivery,
): Promise<boolean> {
  const timer = openStallTimer(stall_milliseconds, 'It gave no answer for two minutes.');
  try {
    const deps = destinationDeps(engine, timer.signal, timer.refresh);
    const config = openConfig(engine, row.id, row);
    const sink = await definition.open(config, deliveryOf(row, one, definition), deps);
    try {
      if (await sink.isCommitted()) return true;
      const slices = await listSlices(engine, one.run_id);
      await sink.abort(slices.flatMap(({ outcome }) => (outcome === null ? [] : [outcome])));
      return false;
    } finally {
      await sink.close();
    }
  } finally {
    timer.end();
  }
}

/** Returns a run's delivery as its destination knows it. */
export function deliveryOf(
  row: LookedAtExport,
  run: Pick<
    UncertainDelivery,
    'run_id' | 'delivery_id' | 'data_interval_start' | 'data_interval_end'
  >,
  { column_set }: Pick<DestinationDefinition, 'column_set'>,
): Delivery {
  return {
    delivery_id: run.delivery_id,
    run_id: run.run_id,
    attempt: 0,
    batch_export_id: row.id,
    team_id: row.team_id,
    model: row.model,
    data_interval_start: run.data_interval_start,
    data_interval_end: run.data_interval_end,
    timezone: row.timezone,
    columns: columnsOf(row, column_set),
    ...writtenBy(row.write_rule, run),
  };
}
