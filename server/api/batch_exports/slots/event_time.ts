import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { deliveredOf, inHandOf } from '../../../engine/model/ledger/ledger.ts';
import { coveredEventSpans, isCovered } from '../../../engine/model/ledger/spans.ts';
import type { Span } from '../../../engine/model/ledger/spans.ts';
import { intervalCount } from '../../../engine/exports/planning/interval.ts';
import type { Rhythm } from '../../../engine/exports/planning/interval.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { areAlike, plainKind } from './gaps.ts';
import type { Gap, SlotKind } from './gaps.ts';
import type { Schedule } from './store.ts';

/** States of runs and backfills other than plain delivery. */
type SpanKind = 'retried' | 'in_doubt' | 'failed' | 'cancelled' | 'open' | 'asked';

/** The facts that decide a slot of event time: the results of backfills by event time. */
export type Backfilled = Record<SpanKind, Span[]> & {
  /** The backfills by event time in the export's current revision. */
  ids: string[];
  /** Event times whose rows ingested before the export's creation are delivered, or will be. */
  delivered: Span[];
  taken: Span[];
};

/**
 * Reads the results of backfills by event time in the range (milliseconds). The schedule delivers
 * rows that were ingested after the export was created, so they do not count here.
 */
export async function readBackfilled(
  tx: Transaction,
  { id, revision, created_at }: Schedule,
  { after, before }: { after: number; before: number },
): Promise<Backfilled> {
  const within = {
    event_from: after,
    event_to: before,
    inserted_from: -Infinity,
    inserted_to: Infinity,
  };
  const wanted = { id, revision, within: [within] };
  const areas = (await deliveredOf(tx, [wanted])).get(id) ?? [];
  const in_hand = (await inHandOf(tx, [wanted])).get(id) ?? [];
  const until = Date.parse(created_at);
  const backfills = await tx.rows<{ id: string; from_at: string; to_at: string; kind: SpanKind }>(
    sql`SELECT id, start_at AS from_at, end_at AS to_at, CASE WHEN finished_at IS NULL THEN 'open'
        WHEN status = 'Cancelled' THEN 'cancelled' ELSE 'asked' END AS kind
      FROM batch_export_backfills WHERE batch_export_id = ${id} AND revision = ${revision}
        AND selects_by = 'timestamp' AND start_at < ${iso(before)}::timestamptz
        AND end_at > ${iso(after)}::timestamptz`,
  );
  const ids = backfills.map((backfill) => backfill.id);
  const runs = await tx.rows<{ from_at: string; to_at: string; kind: SpanKind }>(sql`
    SELECT r.data_interval_start AS from_at, r.data_interval_end AS to_at,
      CASE WHEN r.status = 'Completed' THEN 'retried' WHEN r.status = 'Cancelled' THEN 'cancelled'
        WHEN r.committing_at IS NOT NULL THEN 'in_doubt' ELSE 'failed' END AS kind
    FROM batch_export_runs r
    WHERE ${isOf(id, ids)} AND r.status NOT IN ('Starting', 'Running')
      AND (r.status <> 'Completed' OR r.failures > 0)
      AND r.data_interval_start < ${iso(before)}::timestamptz
      AND r.data_interval_end > ${iso(after)}::timestamptz`);
  const spans: Record<SpanKind, Span[]> = {
    retried: [],
    in_doubt: [],
    failed: [],
    cancelled: [],
    open: [],
    asked: [],
  };
  for (const { kind, from_at, to_at } of [...backfills, ...runs])
    spans[kind].push({ from: Date.parse(from_at), to: Date.parse(to_at) });
  for (const kind of Object.keys(spans) as SpanKind[]) spans[kind] = joined(spans[kind]);
  return {
    ...spans,
    ids,
    delivered: coveredEventSpans(areas, until),
    taken: coveredEventSpans([...areas, ...in_hand], until),
  };
}

/**
 * Divides the event time from `after` to `before` into parts with the same state. Backfills may
 * start and end within a slot, so a slot can have several parts.
 */
export function describeEventTime(
  rhythm: Rhythm,
  backfilled: Backfilled,
  { after, before }: { after: number; before: number },
): Gap[] {
  const { ids: _ids, ...spans } = backfilled;
  const causes = Object.values(spans).flatMap((some) => some.flatMap(({ from, to }) => [from, to]));
  const edges = new Set([after, ...causes.filter((at) => at > after && at < before), before]);
  const sorted = [...edges].sort((one, other) => one - other);
  const parts: (SlotKind & Span)[] = [];
  for (const [index, from] of sorted.slice(0, -1).entries()) {
    const part = { ...kindOf(backfilled, from, sorted[index + 1]!), from, to: sorted[index + 1]! };
    const last = parts.at(-1);
    if (last !== undefined && areAlike(last, part)) last.to = part.to;
    else parts.push(part);
  }
  return parts.map((part) => ({
    ...part,
    slots: intervalCount(rhythm, part.from, part.to),
  }));
}

function kindOf(backfilled: Backfilled, from: number, to: number): SlotKind {
  const isIn = (kind: keyof Omit<Backfilled, 'ids'>) => isCovered(backfilled[kind], from, to);
  const has_failed = isIn('retried') || isIn('failed') || isIn('in_doubt');
  if (isIn('delivered')) return { ...plainKind('delivered'), needed_retries: has_failed };
  // A run that failed in its commit still has its rows.
  if (isIn('in_doubt')) return plainKind('in_doubt');
  if (isIn('taken')) return plainKind('under_way');
  if (isIn('failed')) return plainKind('failed');
  if (isIn('open')) return plainKind('waiting');
  if (isIn('cancelled')) return plainKind('missing', 'cancelled');
  if (isIn('asked')) return plainKind('missing', 'left_by_another_run');
  return plainKind('outside', 'no_backfill');
}

/** Sums of the rows of a range. */
export type DeliveredRows = { records_completed: number; records_total_count: number };

/**
 * Counts rows that completed backfill runs delivered, by the range in which each run starts. The
 * ranges start at `starts`, and the last one ends at `end`.
 */
export async function countDelivered(
  tx: Transaction,
  { ids }: Backfilled,
  starts: number[],
  end: number,
): Promise<Map<number, DeliveredRows>> {
  const first = starts[0];
  if (first === undefined || ids.length === 0) return new Map();
  const rows = await tx.rows<DeliveredRows & { number: number }>(sql`
    SELECT width_bucket(r.data_interval_start, ${starts.map(iso)}::timestamptz[]) AS number,
      coalesce(sum(r.records_completed), 0)::float8 AS records_completed,
      coalesce(sum(r.records_total_count), 0)::float8 AS records_total_count
    FROM batch_export_runs r WHERE r.backfill_id = ANY (${ids}::uuid[]) AND r.status = 'Completed'
      AND r.data_interval_start >= ${iso(first)}::timestamptz
      AND r.data_interval_start < ${iso(end)}::timestamptz
    GROUP BY 1`);
  return new Map(rows.map(({ number, ...sums }) => [number - 1, sums]));
}

function isOf(id: string, backfills: string[]): Sql {
  return sql`r.batch_export_id = ${id} AND r.backfill_id = ANY (${backfills}::uuid[])`;
}

function joined(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.from - other.from)) {
    const last = result.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else result.push({ ...span });
  }
  return result;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
