import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { takenOf } from '../../../engine/model/ledger/ledger.ts';
import {
  fromStored,
  historyUntil,
  restOf as restOfArea,
  subtract,
} from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { isReplacing } from '../../../engine/model/destination/write_mode.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { baseOf } from '../../../engine/exports/planning/make_up.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { RetryAnswer } from './schema.ts';
import { columns_for_actions } from './store.ts';
import type { LockedRun } from './store.ts';

/** Statuses of runs that can be retried. */
export const retried_statuses: readonly string[] = [
  'Failed',
  'FailedRetryable',
  'Cancelled',
  'TimedOut',
  'Terminated',
];

export type RetryRefusal = Exclude<RetryAnswer, 'possible'>;

/**
 * Returns the undelivered part of an area for a new run, as `undelivered` does; a caller that
 * retries many runs has it already.
 */
export type RestOf = (wanted: Rectangle[]) => Promise<Rectangle[]> | Rectangle[];

/** The state of a delivery over all runs that tried it. */
type DeliveryState = {
  open: boolean;
  completed: boolean;
  committing_run_id: string | null;
  committing_revision: number | null;
};

/** A refusal, the run whose commit continues, or the area to deliver. */
type RetryPlan = { refusal: RetryRefusal } | { continues: string } | { selection: Rectangle[] };

/** The export of the run. */
type Retried = { revision: number; write_rule: WriteRule | null };

/** Plans the retry of an ended run. Only this function decides whether a retry is accepted. */
export async function planRetry(
  of: Retried,
  run: LockedRun,
  state: DeliveryState,
  restOf: RestOf,
): Promise<RetryPlan> {
  if (state.open) return { refusal: 'in_progress' };
  if (state.completed) return { refusal: 'completed' };
  if (state.committing_run_id !== null)
    return state.committing_revision === of.revision
      ? { continues: state.committing_run_id }
      : { refusal: 'changed' };
  const selected = subtract(fromStored(run.selection), []);
  // A backfill with mode `all` ignores earlier deliveries, and so does its retry.
  const selection =
    run.backfill?.mode === 'all' ? selected : await restOf(wantedOf(of, run, selected));
  return selection.length === 0 ? { refusal: 'delivered' } : { selection };
}

/**
 * Returns the planned area of the run, even if it left a part to another run: that run may have
 * been cancelled without delivering it. If the export has changed since, the deliveries that the
 * run left out are unknown.
 */
function wantedOf(
  { revision, write_rule }: Retried,
  run: LockedRun,
  selected: Rectangle[],
): Rectangle[] {
  if (isReplacing(write_rule)) return [historyUntil(Date.parse(run.data_interval_end))];
  return run.is_make_up || run.revision !== revision ? selected : [baseOf(run)];
}

// Uses the primary key and batch_export_runs_repeats, so the length of the history does not matter.
const stateOf = (exportId: Sql, deliveryId: Sql) => sql`
  SELECT coalesce(bool_or(status IN ('Starting', 'Running')), false) AS open,
    coalesce(bool_or(status = 'Completed'), false) AS completed,
    (array_agg(id ORDER BY created_at DESC, id DESC) FILTER (WHERE committing_at IS NOT NULL))[1]
      AS committing_run_id,
    (array_agg(revision ORDER BY created_at DESC,
      id DESC) FILTER (WHERE committing_at IS NOT NULL))[1] AS committing_revision
  FROM batch_export_runs WHERE batch_export_id = ${exportId} AND (id = ${deliveryId}
    OR (delivery_id = ${deliveryId} AND id <> delivery_id))`;

/** Returns the state of a delivery of the export. */
export async function getDeliveryState(
  db: Queryable,
  exportId: string,
  deliveryId: string,
): Promise<DeliveryState> {
  return (await db.row<DeliveryState>(stateOf(sql`${exportId}`, sql`${deliveryId}`)))!;
}

type Ended = LockedRun & {
  batch_export_id: string;
  export_revision: number;
  write_rule: WriteRule | null;
} & {
  state: DeliveryState;
};

/**
 * Returns the answer to a retry of each of these runs now; none for runs that have not failed or
 * been cancelled. With `in_turn`, each run is judged after the retries before it, in the order of
 * the ids, as a bulk action retries them.
 */
export async function retryAnswers(
  db: Queryable,
  ids: string[],
  { in_turn }: { in_turn: boolean },
): Promise<Map<string, RetryAnswer>> {
  const answers = new Map<string, RetryAnswer>();
  if (ids.length === 0) return answers;
  const statuses = raw(retried_statuses.map((one) => `'${one}'`).join());
  const runs = await db.rows<Ended>(sql`
    SELECT ${columns_for_actions}, r.batch_export_id, e.revision AS export_revision,
      e.write_rule,
      to_jsonb(delivery.*) AS state
    FROM unnest(${ids}::uuid[]) WITH ORDINALITY asked (id, place)
    JOIN batch_export_runs r ON r.id = asked.id AND r.status IN (${statuses})
    JOIN batch_exports e ON e.id = r.batch_export_id
    CROSS JOIN LATERAL (${stateOf(sql`e.id`, sql`r.delivery_id`)}) delivery
    ORDER BY asked.place`);
  const wanted = new Map<string, { id: string; revision: number; within: Rectangle[] }>();
  for (const run of runs) {
    const { batch_export_id: id, export_revision: revision, write_rule } = run;
    const of = wanted.get(id) ?? { id, revision, within: [] };
    of.within.push(...wantedOf({ revision, write_rule }, run, fromStored(run.selection)));
    wanted.set(id, of);
  }
  const taken = await takenOf(db, [...wanted.values()]);
  const begun = new Set<string>();
  for (const run of runs) {
    const areas = taken.get(run.batch_export_id) ?? [];
    const state = begun.has(run.delivery_id) ? { ...run.state, open: true } : run.state;
    const of = { revision: run.export_revision, write_rule: run.write_rule };
    const plan = await planRetry(of, run, state, (area) => restOfArea(area, areas));
    answers.set(run.id, 'refusal' in plan ? plan.refusal : 'possible');
    if (!in_turn || 'refusal' in plan) continue;
    begun.add(run.delivery_id);
    if ('selection' in plan) taken.set(run.batch_export_id, [...areas, ...plan.selection]);
  }
  return answers;
}
