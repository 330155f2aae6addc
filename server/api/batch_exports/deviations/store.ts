import sql from 'sql-template-tag';
import type { Place } from '../../../platform/http/caller/mount.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type { Caller } from '../../../platform/http/caller/access.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { isInPlace } from '../place.ts';
import type { Deviation } from './schema.ts';

const state = sql`CASE WHEN d.resolved_at IS NOT NULL THEN 'resolved'
  WHEN d.accepted_at IS NOT NULL THEN 'accepted' ELSE 'open' END`;

const selected = sql`
  SELECT d.id, d.batch_export_id AS batch_export, d.revision, ${state} AS state, d.kind,
    d.differences, json_build_object('name', d.name, 'detail', d.detail) AS example,
    CASE WHEN d.run_id IS NOT NULL THEN json_build_object('id', d.delivery_id, 'run', d.run_id,
      'data_interval_start', wire_instant(d.data_interval_start),
      'data_interval_end', wire_instant(d.data_interval_end), 'by', d.selects_by) END AS delivery,
    d.first_seen_at, d.last_seen_at, d.resolved_at, d.accepted_at, d.accepted_by,
    d.accepted_reason, d.repair_run_id, d.repair_backfill_id, e.destination_type,
    e.destination_config, e.timezone, e.write_rule, e.model, e.custom_query,
    e.revision AS present_revision
  FROM batch_export_deviations d JOIN batch_exports e ON e.id = d.batch_export_id`;

/** A stored finding, with the place of its export's rows. */
export type DeviationRow = Omit<Deviation, 'detail' | 'repair'> & {
  revision: number;
  present_revision: number;
  repair_run_id: string | null;
  repair_backfill_id: string | null;
  destination_type: string;
  destination_config: Record<string, unknown> | null;
  timezone: string;
  write_rule: WriteRule | null;
  model: ModelName;
  custom_query: string | null;
};

/** Lists the findings of an export, newest first. */
export function listDeviations(place: Place, exportId: string, wanted: string | undefined): List {
  const condition = sql`d.batch_export_id = ${exportId}
    AND (${wanted ?? null}::text IS NULL OR ${state} = ${wanted ?? null})`;
  return {
    rows: (page) => sql`${selected} WHERE ${condition} AND ${isInPlace(place)}
      ORDER BY d.first_seen_at DESC, d.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM batch_export_deviations d WHERE ${condition}`,
  };
}

/** Lists findings of a period's data intervals, and findings without a delivery, newest first. */
export function statedDeviations(
  db: Queryable,
  { id, revision }: { id: string; revision: number },
  { after, before }: { after: string | null; before: string | null },
  limit: number,
): Promise<DeviationRow[]> {
  return db.rows<DeviationRow>(sql`${selected}
    WHERE d.batch_export_id = ${id} AND d.revision = ${revision}
      AND (${after}::timestamptz IS NULL OR d.data_interval_end IS NULL
        OR d.data_interval_end > ${after}::timestamptz)
      AND (${before}::timestamptz IS NULL OR d.data_interval_start IS NULL
        OR d.data_interval_start < ${before}::timestamptz)
    ORDER BY d.first_seen_at DESC, d.id DESC LIMIT ${limit}`);
}

/** Returns a finding of an export in the place. */
export function findDeviation(
  db: Queryable,
  place: Place,
  exportId: string,
  id: string,
): Promise<DeviationRow | undefined> {
  return db.row<DeviationRow>(
    sql`${selected} WHERE d.id = ${id} AND e.id = ${exportId} AND ${isInPlace(place)}`,
  );
}

/** Records that a person accepts the destination as right. */
export async function acceptDeviation(
  tx: Transaction,
  id: string,
  caller: Pick<Caller, 'user_id' | 'email' | 'key_mask'>,
  reason: string,
): Promise<void> {
  const named = await tx.row<{ name: string }>(sql`
    SELECT concat_ws(' ', nullif(first_name, ''), nullif(last_name, '')) AS name FROM users
    WHERE id = ${caller.user_id}`);
  const { email, key_mask } = caller;
  const person = named === undefined || named.name === '' ? email : `${named.name} <${email}>`;
  const by = email === null ? `service key ${key_mask}` : person;
  await tx.run(sql`UPDATE batch_export_deviations SET accepted_at = now(), accepted_by = ${by},
    accepted_reason = ${reason} WHERE id = ${id}`);
}

/** Records the run or backfill that repairs the delivery of a finding. */
export async function noteDeviationRepair(
  tx: Transaction,
  exportId: string,
  { delivery, run, backfill }: { delivery: string; run: string | null; backfill: string | null },
): Promise<void> {
  await tx.run(sql`UPDATE batch_export_deviations SET repair_run_id = ${run},
    repair_backfill_id = ${backfill}
    WHERE batch_export_id = ${exportId} AND delivery_id = ${delivery} AND resolved_at IS NULL`);
}
