import sql, { join, raw } from 'sql-template-tag';
import { finding_kinds } from '../../../engine/exports/verification/verification.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { isInPlace } from '../place.ts';
import type { Verification, VerificationFinding } from './schema.ts';

const kind_counts = join(
  finding_kinds.map(
    (kind) => sql`${raw(`'${kind}'`)}, count(*) FILTER (WHERE f.kind = ${raw(`'${kind}'`)})`,
  ),
  ', ',
);

const selected = sql`
  SELECT v.id, v.batch_export_id AS batch_export, v.revision, v.status, v.start_at, v.end_at,
    v.detail, v.deliveries, v.deliveries_checked, v.records, v.records_checked
      + v.records_in_part AS records_checked, v.differences,
    counted.counts, v.notes, v.is_unproven, v.verified_through, v.created_at, v.started_at,
    v.finished_at, v.last_updated_at, e.destination_type, e.write_rule,
    e.model, e.custom_query
  FROM batch_export_verifications v JOIN batch_exports e ON e.id = v.batch_export_id
  CROSS JOIN LATERAL (SELECT json_build_object(${kind_counts}) AS counts
    FROM batch_export_findings f WHERE f.verification_id = v.id) counted`;

/** A stored verification. */
export type VerificationRow = Omit<Verification, 'detail' | 'progress'> & {
  revision: number;
  detail: string | null;
  deliveries: number | null;
  deliveries_checked: number;
  records: number | null;
  records_checked: number;
  destination_type: string;
  write_rule: WriteRule | null;
  model: ModelName;
  custom_query: string | null;
};

/** Lists an export's verifications, newest first. */
export function listVerifications(place: Place, exportId: string): List {
  return {
    rows: (
      page,
    ) => sql`${selected} WHERE e.id = ${exportId} AND NOT v.is_scheduled AND ${isInPlace(place)}
      ORDER BY v.created_at DESC, v.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM batch_export_verifications
      WHERE batch_export_id = ${exportId} AND NOT is_scheduled`,
  };
}

/** Returns the verification if its export is in the place. */
export function findVerification(
  db: Queryable,
  place: Place,
  exportId: string,
  id: string,
): Promise<VerificationRow | undefined> {
  return db.row<VerificationRow>(
    sql`${selected} WHERE v.id = ${id} AND e.id = ${exportId} AND ${isInPlace(place)}`,
  );
}

/** A stored finding. */
export type FindingRow = Omit<VerificationFinding, 'repair'> & {
  repair_run_id: string | null;
  repair_backfill_id: string | null;
};

const finding_columns = sql`number, kind, name, detail, "column", expected, found,
  CASE WHEN delivery_id IS NOT NULL THEN json_build_object('id', delivery_id, 'run', run_id,
    'data_interval_start', wire_instant(data_interval_start),
    'data_interval_end', wire_instant(data_interval_end), 'by', selects_by) END AS delivery,
  repair_run_id, repair_backfill_id`;

/** Lists the findings of a verification, in their order. */
export function listFindings(id: string, kind: string | undefined): List {
  const condition = sql`verification_id = ${id}
    AND (${kind ?? null}::text IS NULL OR kind = ${kind ?? null})`;
  return listOf(finding_columns, sql`batch_export_findings WHERE ${condition}`, sql`number`);
}

/** Returns the first finding about a delivery. */
export function findDeliveryFinding(
  db: Queryable,
  id: string,
  delivery_id: string,
): Promise<FindingRow | undefined> {
  return db.row<FindingRow>(sql`
    SELECT ${finding_columns} FROM batch_export_findings
    WHERE verification_id = ${id} AND delivery_id = ${delivery_id}
    ORDER BY kind = 'uncertain' DESC, number LIMIT 1`);
}

/** Records the run or backfill that repairs a delivery. */
export async function noteRepair(
  db: Queryable,
  id: string,
  { delivery, run, backfill }: { delivery: string; run: string | null; backfill: string | null },
): Promise<void> {
  await db.run(sql`
    UPDATE batch_export_findings SET repair_run_id = ${run}, repair_backfill_id = ${backfill}
    WHERE verification_id = ${id} AND delivery_id = ${delivery}`);
}
