import sql from 'sql-template-tag';
import { takenOf } from '../../../engine/ledger/ledger.ts';
import { fromStored } from '../../../engine/ledger/rectangles.ts';
import type { StoredRectangle } from '../../../engine/ledger/rectangles.ts';
import { coveredSpans, multirangeText } from '../../../engine/ledger/spans.ts';
import type { Span } from '../../../engine/ledger/spans.ts';
import type { Interval } from '../../../engine/planning/interval.ts';
import type { Database, Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';

/** The longest interval that a run has, and a day for the change of the clocks. */
const run_days_max = 8;

/** The schedule of an export, and what was delivered: all that decides what a slot is. */
export type Scheduled = {
  id: string;
  team_id: number;
  revision: number;
  interval: Interval;
  timezone: string;
  created_at: string;
  start_at: string | null;
  end_at: string | null;
  paused: boolean;
  planned_until: string;
  /** Insertion times that are wholly delivered, and those that other runs have as well. */
  delivered: Span[];
  taken: Span[];
  /** While it was paused. */
  pauses: Span[];
  /** What runs of earlier revisions were for. */
  earlier: Span[];
  /** The present instant of the control store, ms. */
  now: number;
};

/** Runs of the schedule side by side whose slots are alike. */
export type RunRange = {
  state: 'delivered' | 'under_way' | 'in_doubt' | 'failed' | 'cancelled' | 'left_by_another_run';
  start_at: string;
  end_at: string;
  slots: number;
  first_run: string;
  last_run: string;
  records_completed: number;
  records_total_count: number;
};

/** Reads what belongs together as of one instant: a run that ends meanwhile changes nothing. */
export function inOneLook<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await tx.text('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    return work(tx);
  });
}

/** The export with what decides about its slots in the range; undefined when it is gone. */
export async function findScheduled(
  tx: Transaction,
  organization_id: string,
  id: string,
): Promise<Scheduled | undefined> {
  const row = await tx.row<
    Omit<Scheduled, 'delivered' | 'taken' | 'pauses' | 'earlier' | 'now'> & {
      delivered: StoredRectangle[] | null;
    }
  >(sql`
    SELECT e.id, e.team_id, e.revision, e."interval", e.timezone, e.created_at, e.start_at,
      e.end_at, e.paused, e.planned_until, l.delivered
    FROM batch_exports e LEFT JOIN batch_export_ledgers l
      ON l.batch_export_id = e.id AND l.revision = e.revision WHERE e.id = ${id}`);
  if (row === undefined) return undefined;
  const now = await databaseInstant(tx);
  const taken = (await takenOf(tx, [row])).get(id) ?? [];
  return {
    ...row,
    delivered: coveredSpans(fromStored(row.delivered ?? [])),
    taken: coveredSpans(taken),
    pauses: await listPauses(tx, organization_id, row),
    earlier: row.revision === 1 ? [] : await listEarlier(tx, row),
    now,
  };
}

/** By the activity log, which has every pause: of people, of keys and of the server. */
async function listPauses(
  tx: Transaction,
  organization_id: string,
  { id, created_at }: { id: string; created_at: string },
): Promise<Span[]> {
  // Leans on activity_by_item.
  const rows = await tx.rows<{ at: string; paused: boolean }>(sql`
    SELECT a.created_at AS at, (change ->> 'after')::boolean AS paused FROM activity a
      CROSS JOIN LATERAL json_array_elements(a.changes) change
    WHERE a.chain_id = ${organization_id}::uuid AND a.item_id = ${id} AND a.scope = 'batch_export'
      AND change ->> 'field' = 'paused' AND change ->> 'after' IN ('true', 'false')
    ORDER BY a.number`);
  const pauses: Span[] = [];
  for (const { at, paused } of rows) {
    const open = pauses.at(-1);
    if (paused)
      pauses.push({ from: Math.max(Date.parse(at), Date.parse(created_at)), to: Infinity });
    else if (open !== undefined) open.to = Date.parse(at);
  }
  return pauses;
}

async function listEarlier(
  tx: Transaction,
  { id, revision }: { id: string; revision: number },
): Promise<Span[]> {
  const rows = await tx.rows<{ from_at: string; to_at: string }>(sql`
    SELECT lower(span) AS from_at, upper(span) AS to_at FROM unnest((
      SELECT range_agg(tstzrange(r.data_interval_start, r.data_interval_end))
      FROM batch_export_runs r WHERE r.batch_export_id = ${id} AND r.revision < ${revision}
        AND r.backfill_id IS NULL AND r.status = 'Completed')) span`);
  return rows.map(({ from_at, to_at }) => ({ from: Date.parse(from_at), to: Date.parse(to_at) }));
}

/**
 * The runs of the schedule that touch the range, of each slot the latest, as ranges of slots that
 * are alike, oldest first; one more than the limit at most. First tries come from
 * batch_export_runs_scheduled_unique, retries from batch_export_runs_repeats, so that runs of
 * backfills are not looked at.
 */
export function listRunRanges(
  tx: Transaction,
  { id, revision, delivered, taken }: Scheduled,
  { after, before, limit }: { after: string; before: string; limit: number },
): Promise<RunRange[]> {
  const range = sql`tstzrange(latest.start_at, latest.end_at)`;
  return tx.rows<RunRange>(sql`
    WITH areas AS MATERIALIZED (
      -- Read once: in the conditions below the texts would be read for each row.
      SELECT ${multirangeText(delivered)}::tstzmultirange AS delivered,
        ${multirangeText([...delivered, ...taken])}::tstzmultirange AS taken
    ), runs AS (
      SELECT * FROM batch_export_runs r WHERE r.batch_export_id = ${id}
        AND r.revision = ${revision} AND r.backfill_id IS NULL AND r.id = r.delivery_id
        AND r.data_interval_end > ${after}::timestamptz
        AND r.data_interval_end < ${before}::timestamptz + make_interval(days => ${run_days_max})
      UNION ALL
      SELECT * FROM batch_export_runs r WHERE r.batch_export_id = ${id}
        AND r.revision = ${revision} AND r.backfill_id IS NULL AND r.id <> r.delivery_id
        AND NOT r.is_make_up AND r.data_interval_end > ${after}::timestamptz
    ), latest AS (
      SELECT DISTINCT ON (r.data_interval_start, r.data_interval_end) r.id, r.status,
        r.data_interval_start AS start_at, r.data_interval_end AS end_at,
        r.committing_at IS NOT NULL AS has_begun_to_commit, r.records_completed,
        r.records_total_count
      FROM runs r WHERE r.data_interval_start < ${before}::timestamptz
      ORDER BY r.data_interval_start, r.data_interval_end, r.created_at DESC, r.id DESC
    ), judged AS MATERIALIZED (
      -- Judged once: the windows below would carry the areas along with each row.
      SELECT latest.*, CASE
        WHEN ${range} <@ areas.delivered THEN 'delivered'
        WHEN latest.status IN ('Starting', 'Running') THEN 'under_way'
        WHEN latest.status <> 'Completed' AND latest.has_begun_to_commit THEN 'in_doubt'
        WHEN ${range} <@ areas.taken THEN 'under_way'
        WHEN latest.status = 'Completed' THEN 'left_by_another_run'
        WHEN latest.status = 'Cancelled' THEN 'cancelled' ELSE 'failed' END AS state
      FROM latest CROSS JOIN areas
    ), marked AS (
      SELECT judged.*,
        (state, start_at) IS DISTINCT FROM (lag(state) OVER side, lag(end_at) OVER side) AS begins,
        (state, end_at) IS DISTINCT FROM (lead(state) OVER side, lead(start_at) OVER side) AS ends
      FROM judged WINDOW side AS (ORDER BY start_at, end_at)
    ), numbered AS (
      SELECT marked.*, count(*) FILTER (WHERE begins) OVER (ORDER BY start_at, end_at) AS number
      FROM marked
    )
    SELECT min(state) AS state, min(start_at) AS start_at, max(end_at) AS end_at,
      count(*) AS slots, min(id::text) FILTER (WHERE begins) AS first_run,
      min(id::text) FILTER (WHERE ends) AS last_run,
      coalesce(sum(records_completed), 0)::bigint AS records_completed,
      coalesce(sum(records_total_count), 0)::bigint AS records_total_count
    FROM numbered GROUP BY number ORDER BY number LIMIT ${limit + 1}`);
}
