import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { deliveredOf } from '../../model/ledger/ledger.ts';
import { fromStored, subtract } from '../../model/ledger/rectangles.ts';
import type { StoredRectangle } from '../../model/ledger/rectangles.ts';
import { coveredSpans } from '../../model/ledger/spans.ts';
import type { Verification } from './verification.ts';

/** Facts of a complete verification. */
export type Verified = Pick<
  Verification,
  'batch_export_id' | 'revision' | 'start_at' | 'end_at' | 'started_at' | 'is_unproven'
> & { doubtful_from: number | null };

/**
 * Returns the instant up to which everything ingested since the schedule's first interval was
 * delivered and verified; null: none. A verification of a range extends the previous result.
 */
export async function verifiedThrough(db: Queryable, one: Verified): Promise<string | null> {
  if (one.is_unproven) return null;
  const before = await findVerifiedThrough(db, one);
  const whole = await wholeUntil(db, one);
  if (whole === undefined) return null;
  const known = before === null ? -Infinity : Date.parse(before);
  const reached = Math.min(await reachedBy(db, one, whole, known), whole.to);
  // A look at all deliveries takes days with a small budget; others may have reached further.
  const later = known > reached ? await wholeUntil(db, { ...one, started_at: 'infinity' }) : whole;
  const kept = Math.min(known, later?.to ?? -Infinity);
  const through = Math.min(Math.max(reached, kept), one.doubtful_from ?? Infinity);
  return through > whole.from ? isoInstant(through) : null;
}

/**
 * Returns the end of the gapless range that verifications have checked, with or without findings.
 */
async function reachedBy(
  db: Queryable,
  one: Verified,
  whole: { from: number; to: number },
  known: number,
): Promise<number> {
  const { start_at, end_at } = one;
  if (start_at === null && end_at === null) return whole.to;
  // The range refers to data intervals: those of backfills by event time say nothing about
  // ingestion.
  if (await hasUnseenEventTime(db, one, Math.max(whole.from, known))) return known;
  const from = start_at === null ? -Infinity : Date.parse(start_at);
  const to = end_at === null ? Infinity : Date.parse(end_at);
  return from <= Math.max(whole.from, known) ? Math.max(known, Math.min(whole.to, to)) : known;
}

/**
 * Returns true if backfills by event time have delivered rows ingested after this time that no look
 * has seen. A run delivers only rows that were ingested before it was planned.
 */
async function hasUnseenEventTime(
  db: Queryable,
  { batch_export_id, revision }: Verified,
  after: number,
): Promise<boolean> {
  const row = await db.row(sql`
    SELECT 1 FROM batch_export_backfills b JOIN batch_export_runs r ON r.backfill_id = b.id
      AND r.status = 'Completed' AND r.records_completed > 0
      AND r.created_at > ${isoInstant(Math.max(0, after))}::timestamptz
    WHERE b.batch_export_id = ${batch_export_id} AND b.revision = ${revision}
      AND b.selects_by = 'timestamp' AND NOT EXISTS (SELECT 1 FROM batch_export_seals s
        WHERE s.batch_export_id = ${batch_export_id} AND s.delivery_id = r.delivery_id) LIMIT 1`);
  return row !== undefined;
}

/** Returns the latest result of the export's revision; null if there is none. */
async function findVerifiedThrough(
  db: Queryable,
  { batch_export_id, revision }: Pick<Verified, 'batch_export_id' | 'revision'>,
): Promise<string | null> {
  const row = await db.row<{ verified_through: string | null }>(sql`
    SELECT verified_through FROM batch_export_watches
    WHERE batch_export_id = ${batch_export_id} AND revision = ${revision}`);
  return row?.verified_through ?? null;
}

/**
 * Returns the span of insertion time, from the schedule's first interval, that the ledger covers
 * completely, without deliveries after the start of the verification.
 */
async function wholeUntil(
  db: Queryable,
  { batch_export_id: id, revision, started_at }: Verified,
): Promise<{ from: number; to: number } | undefined> {
  const areas = (await deliveredOf(db, [{ id, revision }])).get(id) ?? [];
  const later = await db.rows<{ selection: StoredRectangle[] }>(sql`
    SELECT selection FROM batch_export_runs WHERE batch_export_id = ${id}
      AND revision = ${revision} AND status = 'Completed' AND replaces IS NULL
      AND finished_at >= ${started_at}::timestamptz`);
  const spans = coveredSpans(
    subtract(
      areas,
      later.flatMap(({ selection }) => fromStored(selection)),
    ),
  );
  // Uses batch_export_runs_compared.
  const first = await db.row<{ at: string | null }>(sql`
    SELECT min(data_interval_start) AS at FROM batch_export_runs WHERE batch_export_id = ${id}
      AND revision = ${revision} AND backfill_id IS NULL AND id = delivery_id`);
  const from = first?.at === null || first === undefined ? spans[0]?.from : Date.parse(first.at);
  if (from === undefined) return undefined;
  const span = spans.find((some) => some.from <= from && some.to > from);
  return span === undefined ? undefined : { from, to: span.to };
}
