import sql, { empty, join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Actor } from '../../../platform/activity/chain.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { isInPlace } from '../place.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { retryAnswers } from '../runs/retry_plan.ts';
import { isOfRuns } from './schema.ts';
import type { BulkAction, BulkKind, NewBulkAction } from './schema.ts';

const columns = sql`b.id, b.team_id, b.action, b.status, b.detail, json_build_object(
    'total', b.total, 'pending', CASE WHEN b.status = 'Running'
      THEN b.total - b.succeeded - b.unchanged - b.refused ELSE 0 END,
    'succeeded', b.succeeded, 'unchanged', b.unchanged, 'refused', b.refused) AS progress,
  b.actor ->> 'user_email' AS created_by, b.created_at, b.finished_at, b.last_updated_at`;

/** In a project, the actions requested there; in an organization, all of them. */
const isHere = ({ organization_id, team_id }: Place) => sql`
  b.organization_id = ${organization_id}::uuid
  ${team_id === undefined ? empty : sql`AND b.team_id = ${team_id}`}`;

/** A row without the sentence that is built from it; `detail` says why the server ended it. */
export type BulkActionRow = Omit<BulkAction, 'detail'> & { detail: string | null };

/** Lists the actions of a place, newest first. */
export function listBulkActions(place: Place): List {
  return listOf(
    columns,
    sql`bulk_actions b WHERE ${isHere(place)}`,
    sql`b.created_at DESC, b.id DESC`,
  );
}

/** Returns the action; with `lock`, no worker processes it until the transaction ends. */
export function findBulkAction(
  db: Queryable,
  place: Place,
  id: string,
  lock?: 'lock',
): Promise<BulkActionRow | undefined> {
  return db.row<BulkActionRow>(sql`SELECT ${columns} FROM bulk_actions b
    WHERE b.id = ${id}::uuid AND ${isHere(place)} ${lock === undefined ? empty : sql`FOR UPDATE`}`);
}

/** Lists the items of an action, in their order. */
export function listItems(id: string, outcome: string | undefined): List {
  return listOf(
    sql`i.number, i.batch_export_id AS batch_export, i.name, i.run_id AS run, i.outcome,
      i.detail, i.new_run_id AS new_run, i.finished_at`,
    sql`bulk_action_items i WHERE i.bulk_action_id = ${id}::uuid
      AND (${outcome ?? null}::text IS NULL OR i.outcome = ${outcome ?? null})`,
    sql`i.number`,
  );
}

/** A bulk action as requested. */
export type BulkActionCreated = {
  id: string;
  place: Place;
  action: BulkKind;
  options: { backfill: boolean };
  actor: Actor;
};

/** Adds an action without items. */
export async function insertBulkAction(tx: Transaction, created: BulkActionCreated): Promise<void> {
  const { id, place, action, options, actor } = created;
  await tx.run(sql`
    INSERT INTO bulk_actions (id, organization_id, team_id, action, options, actor, user_id,
      service_key_id, status, total)
    VALUES (${id}, ${place.organization_id}::uuid, ${place.team_id ?? null}, ${action},
      ${JSON.stringify(options)}::jsonb, ${JSON.stringify(actor)}::jsonb, ${actor.user_id},
      ${actor.user_id === null ? actor.key_id : null}::uuid, 'Running', 0)`);
}

const retried_by_default = ['Failed', 'FailedRetryable', 'TimedOut', 'Terminated'];
const cancelled_by_default = ['Starting', 'Running'];

/**
 * Adds the items that the action selects now, at most `limit` plus one, and returns their number.
 * Runs of one export are adjacent, oldest first.
 */
export async function insertItems(
  tx: Transaction,
  { id, place, action }: BulkActionCreated,
  { ids, filter = {} }: Pick<NewBulkAction, 'ids' | 'filter'>,
  limit: number,
): Promise<number> {
  const { batch_export, search, model, destination_type, paused } = filter;
  const ofExport = [
    isInPlace(place),
    ...when(batch_export, (one) => sql`e.id = ${one}::uuid`),
    ...when(search, (text) => sql`position(lower(${text}) IN lower(e.name)) > 0`),
    ...when(model, (one) => sql`e.model = ${one}`),
    ...when(destination_type, (type) => sql`e.destination_type = ${type}`),
    ...when(paused, (one) => sql`e.paused = ${one}`),
  ];
  if (!isOfRuns(action))
    return tx.run(sql`
      INSERT INTO bulk_action_items (bulk_action_id, number, batch_export_id, name)
      SELECT ${id}::uuid, row_number() OVER (ORDER BY e.created_at, e.id), e.id, e.name
      FROM batch_exports e
      WHERE ${join([...ofExport, ...when(ids, (all) => sql`e.id = ANY (${all}::uuid[])`)], ' AND ')}
      LIMIT ${limit + 1}`);
  const statuses =
    filter.status ??
    (ids !== undefined
      ? undefined
      : action === 'retry_runs'
        ? retried_by_default
        : cancelled_by_default);
  const ofRun = [
    ...when(ids, (all) => sql`r.id = ANY (${all}::uuid[])`),
    ...when(statuses, (some) => sql`r.status = ANY (${some}::text[])`),
    ...when(filter.error_code, (code) => sql`r.error_code = ${code}`),
    ...when(filter.after, (at) => sql`r.data_interval_start >= ${at}::timestamptz`),
    ...when(filter.before, (at) => sql`r.data_interval_start < ${at}::timestamptz`),
  ];
  const matching = sql`batch_exports e JOIN batch_export_runs r ON r.batch_export_id = e.id
    WHERE ${join([...ofExport, ...ofRun], ' AND ')}`;
  const accepted =
    action === 'retry_runs' && ids === undefined
      ? await acceptedRetries(tx, matching, limit)
      : undefined;
  return tx.run(sql`
    INSERT INTO bulk_action_items (bulk_action_id, number, batch_export_id, name, run_id)
    SELECT ${id}::uuid, row_number() OVER (ORDER BY ${order_of_runs}), e.id, e.name, r.id
    FROM ${matching} ${accepted === undefined ? empty : sql`AND r.id = ANY (${accepted}::uuid[])`}
    LIMIT ${limit + 1}`);
}

const order_of_runs = sql`e.created_at, e.id, r.data_interval_start, r.id`;

/**
 * A filter selects only runs that can be retried; runs whose retry would be refused are left out.
 */
async function acceptedRetries(tx: Transaction, matching: Sql, limit: number): Promise<string[]> {
  const runs = await tx.rows<{ id: string }>(sql`
    SELECT r.id FROM ${matching} ORDER BY ${order_of_runs} LIMIT ${limit + 1}`);
  const ids = runs.map(({ id }) => id);
  // Too many in any case: `createBulkAction` reports it.
  if (ids.length > limit) return ids;
  const answers = await retryAnswers(tx, ids, { in_turn: true });
  return ids.filter((id) => answers.get(id) === 'possible');
}

function when<Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql[] {
  return value === undefined ? [] : [condition(value)];
}

/** Stores the number of items; an action without items ends at once. */
export async function beginBulkAction(tx: Transaction, id: string, total: number): Promise<void> {
  await tx.run(sql`
    UPDATE bulk_actions SET total = ${total}::integer,
      status = CASE WHEN ${total}::integer = 0 THEN 'Completed' ELSE status END,
      finished_at = CASE WHEN ${total}::integer = 0 THEN now() END WHERE id = ${id}::uuid`);
}

/** Ends an action and aborts its pending items. The caller holds its lock. */
export async function abortBulkAction(
  tx: Transaction,
  id: string,
  detail: string | null,
): Promise<void> {
  await tx.run(sql`UPDATE bulk_action_items SET outcome = 'aborted', finished_at = now()
    WHERE bulk_action_id = ${id}::uuid AND outcome = 'pending'`);
  await tx.run(sql`UPDATE bulk_actions SET status = 'Aborted', detail = ${detail},
    finished_at = now(), last_updated_at = now() WHERE id = ${id}::uuid`);
}
