import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Database, Queryable } from '../../../../platform/postgres/database.ts';
import type { Lease } from '../leases.ts';
import type { OfPerson } from './persons.ts';

/**
 * An event that waits at a mapping. Times are on the clock of `performance.now()`; `due_at` null:
 * it waits for an earlier one of its person.
 */
export type Waiting = OfPerson & {
  mapping: string;
  event_uuid: string;
  inserted_at: string;
  tries: number;
  tried_at: number | null;
  due_at: number | null;
  is_lost: boolean;
  /** True if a replay sent it. */
  is_replay: boolean;
  reason: string;
};

/** Waiting events of one config; at this limit, the cursor stays. */
export const waiting_max = 10_000;

/** Returns SQL for an instant of the control store as milliseconds from now. */
export const milliseconds = (instant: Sql): Sql =>
  sql`(extract(epoch FROM ${instant} - now()) * 1000)::float8`;

/** Converts it to the clock of `performance.now()`. */
export function onOurClock(from_now_ms: number | null): number | null {
  return from_now_ms === null ? null : performance.now() + from_now_ms;
}

/** Converts such an instant to seconds from now, which the control store adds to its own clock. */
export function secondsFromNow(at: number | null): number | null {
  return at === null ? null : (at - performance.now()) / 1_000;
}

/** Lists all waiting events of a config, in the order of storing. */
export async function listWaiting(db: Database, config_id: number): Promise<Waiting[]> {
  const rows = await db.rows<Waiting>(sql`
    SELECT mapping, event_uuid, wire_instant(inserted_at) AS inserted_at, distinct_id, person_id,
      tries, is_lost, is_replay, reason, ${milliseconds(sql`tried_at`)} AS tried_at,
      ${milliseconds(sql`next_try_at`)} AS due_at
    FROM plugin_waiting WHERE plugin_config_id = ${config_id} ORDER BY id`);
  return rows.map((row) => ({
    ...row,
    tried_at: onOurClock(row.tried_at),
    due_at: onOurClock(row.due_at),
  }));
}

/** Stores the changes: new or changed rows, and deleted ones. */
export async function saveWaiting(
  tx: Queryable,
  { config_id }: Lease,
  kept: Waiting[],
  gone: Waiting[],
): Promise<void> {
  if (gone.length > 0)
    await tx.run(sql`DELETE FROM plugin_waiting WHERE plugin_config_id = ${config_id}
      AND (mapping, event_uuid) IN (SELECT * FROM unnest(
        ${gone.map(({ mapping }) => mapping)}::text[],
        ${gone.map(({ event_uuid }) => event_uuid)}::uuid[]))`);
  if (kept.length > 0)
    await tx.run(sql`
      INSERT INTO plugin_waiting (plugin_config_id, mapping, event_uuid, inserted_at, distinct_id,
        person_id, tries, tried_at, next_try_at, is_lost, is_replay, reason)
      SELECT ${config_id}, one.mapping, one.event_uuid, one.inserted_at, one.distinct_id,
        one.person_id, one.tries, now() + make_interval(secs => one.tried_in),
        now() + make_interval(secs => one.due_in), one.is_lost, one.is_replay, one.reason
      FROM unnest(
        ${kept.map(({ mapping }) => mapping)}::text[],
        ${kept.map(({ event_uuid }) => event_uuid)}::uuid[],
        ${kept.map(({ inserted_at }) => inserted_at)}::timestamptz[],
        ${kept.map(({ distinct_id }) => distinct_id)}::text[],
        ${kept.map(({ person_id }) => person_id)}::uuid[],
        ${kept.map(({ tries }) => tries)}::integer[],
        ${kept.map(({ tried_at }) => secondsFromNow(tried_at))}::float8[],
        ${kept.map(({ due_at }) => secondsFromNow(due_at))}::float8[],
        ${kept.map(({ is_lost }) => is_lost)}::boolean[],
        ${kept.map(({ is_replay }) => is_replay)}::boolean[],
        ${kept.map(({ reason }) => reason)}::text[]
      ) WITH ORDINALITY AS one (mapping, event_uuid, inserted_at, distinct_id, person_id, tries,
        tried_in, due_in, is_lost, is_replay, reason, number)
      ORDER BY one.number
      ON CONFLICT (plugin_config_id, mapping, event_uuid) DO UPDATE SET tries = excluded.tries,
        tried_at = excluded.tried_at, next_try_at = excluded.next_try_at,
        is_lost = excluded.is_lost, reason = excluded.reason`);
}
