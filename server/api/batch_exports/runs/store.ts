import sql, { empty, join, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { StoredRectangle } from '../../../engine/model/ledger/rectangles.ts';
import type { BackfillBy } from '../../../engine/exports/planning/backfill_area.ts';
import { keysetCondition, keysetOrder } from '../../../platform/http/lists/cursor.ts';
import type { Keyset } from '../../../platform/http/lists/cursor.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { isInPlace } from '../place.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { run_columns } from './fields.ts';
import type { BatchExportRun } from './schema.ts';

/** Returns the run in its wire form, if its export is in the place. */
export function findRun(
  db: Queryable,
  place: Place,
  exportId: string,
  id: string,
): Promise<BatchExportRun | undefined> {
  return db.row<BatchExportRun>(sql`
    SELECT ${run_columns} FROM batch_export_runs r JOIN batch_exports e ON e.id = r.batch_export_id
      WHERE r.id = ${id} AND e.id = ${exportId} AND ${isInPlace(place)}`);
}

/** Filters of a list of runs: statuses, and an open range of the ordering field. */
export type RunsWanted = {
  statuses: string[] | undefined;
  after: string | undefined;
  before: string | undefined;
};

/** Statuses that few runs have, grouped by index. */
const rare_statuses: readonly (readonly string[])[] = [
  ['Starting', 'Running'],
  ['Failed', 'FailedRetryable', 'Cancelled', 'TimedOut', 'Terminated', 'ContinuedAsNew'],
];

/**
 * Lists the runs of one page and one more. Uses batch_export_runs_by_export and
 * batch_export_runs_by_interval. Rare statuses alone come from batch_export_runs_taken or
 * batch_export_runs_not_well.
 */
export function listRuns(
  db: Queryable,
  exportId: string,
  keyset: Keyset,
  wanted: RunsWanted,
): Promise<BatchExportRun[]> {
  const statuses = [...new Set(wanted.statuses)];
  const rare = rare_statuses.find((all) => statuses.every((one) => all.includes(one)));
  const matching = sql`batch_export_runs r WHERE ${ofRuns(exportId, keyset, wanted)}`;
  const order = keysetOrder(keyset);
  if (statuses.length === 0 || rare === undefined)
    return db.rows(sql`SELECT ${run_columns} FROM ${matching}
      ${statuses.length === 0 ? empty : sql`AND r.status = ANY (${statuses}::text[])`} ${order}`);
  // PostgreSQL uses the index only if the statement repeats its condition as literal text.
  const of_index = raw(`r.status IN (${rare.map((one) => `'${one}'`).join()})`);
  return db.rows(sql`
    SELECT ${run_columns} FROM unnest(${statuses}::text[]) asked CROSS JOIN LATERAL (
      SELECT * FROM ${matching} AND r.status = asked AND ${of_index} ${order}) r ${order}`);
}

/** Leaves out absent conditions: a generic plan would read too many rows. */
function ofRuns(exportId: string, keyset: Keyset, { after, before }: RunsWanted): Sql {
  const field = keyset.column === 'created_at' ? sql`r.created_at` : sql`r.data_interval_start`;
  return join(
    [
      sql`r.batch_export_id = ${exportId} AND ${keysetCondition(keyset)}`,
      ...(after === undefined ? [] : [sql`${field} > ${after}::timestamptz`]),
      ...(before === undefined ? [] : [sql`${field} < ${before}::timestamptz`]),
    ],
    ' AND ',
  );
}

/** A run, as the actions read it. */
export type LockedRun = {
  id: string;
  status: BatchExportRun['status'];
  revision: number;
  delivery_id: string;
  backfill_id: string | null;
  backfill: { mode: 'missing' | 'all'; selects_by: BackfillBy; watermark: string } | null;
  is_make_up: boolean;
  data_interval_start: string;
  data_interval_end: string;
  selection: StoredRectangle[];
  committing_at: string | null;
};

/** The columns of run `r` that make a `LockedRun`. */
export const columns_for_actions = sql`r.id, r.status, r.revision, r.delivery_id, r.backfill_id,
  r.is_make_up, r.data_interval_start, r.data_interval_end, r.selection, r.committing_at,
  (SELECT json_build_object('mode', b.mode, 'selects_by', b.selects_by,
    'watermark', wire_instant(b.watermark)) FROM batch_export_backfills b
    WHERE b.id = r.backfill_id) AS backfill`;

/** Locks the run until the transaction ends; the caller holds the lock on its export. */
export function lockRun(
  tx: Transaction,
  exportId: string,
  id: string,
): Promise<LockedRun | undefined> {
  return tx.row<LockedRun>(sql`
    SELECT ${columns_for_actions}
    FROM batch_export_runs r WHERE r.id = ${id} AND r.batch_export_id = ${exportId} FOR UPDATE`);
}

/**
 * Returns the exact text of a completed run's signed receipt; null if it has none yet, undefined if
 * the run does not exist.
 */
export function findReceipt(
  db: Queryable,
  place: Place,
  exportId: string,
  id: string,
): Promise<{ receipt: string | null; status: string } | undefined> {
  return db.row(sql`
    SELECT r.receipt, r.status FROM batch_export_runs r JOIN batch_exports e
      ON e.id = r.batch_export_id WHERE r.id = ${id} AND e.id = ${exportId}
      AND ${isInPlace(place)}`);
}
