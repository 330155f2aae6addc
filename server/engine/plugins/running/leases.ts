import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { has_deletions } from '../erasing/erasure_tools.ts';
import { run_changed_at, run_version_id } from '../run_version.ts';

/**
 * A config that a worker has claimed. `id` is new with each claim: a worker with an older one has
 * lost the config, and writes nothing.
 */
export type Lease = { id: string; config_id: number; team_id: number };

/**
 * A position in the order of a project's events: by insertion, timestamp and uuid. Everything
 * inserted earlier is done, and of this instant everything up to the event `within` (times as ISO
 * 8601). `event_uuid` comes from release 1.0.0, whose order had no timestamp. We never write it, so
 * a worker of that release restarts at the beginning of the instant, and loses nothing.
 */
export type Position = {
  inserted_at: string;
  event_uuid: string | null;
  within: { timestamp: string; uuid: string } | null;
};

/**
 * SQL for the columns of a position, as JSON. If another release has moved the position, `within`
 * is invalid.
 */
export const position_json = sql`json_build_object('inserted_at', wire_instant(inserted_at),
  'event_uuid', event_uuid, 'within', CASE WHEN event_uuid IS NULL
    AND (within_instant->>'inserted_at')::timestamptz = inserted_at THEN within_instant END)`;

/** Returns the assignments of a position to its columns. */
export function movedTo({ inserted_at, event_uuid, within }: Position): Sql {
  const within_instant = within === null ? null : JSON.stringify({ inserted_at, ...within });
  return sql`inserted_at = ${inserted_at}, event_uuid = ${event_uuid},
    within_instant = ${within_instant}::json`;
}

/** Returns the position after an event. */
export function placeOf({
  inserted_at,
  timestamp,
  uuid,
}: Record<'inserted_at' | 'timestamp' | 'uuid', string>): Position {
  return { inserted_at, event_uuid: null, within: { timestamp, uuid } };
}

/** Returns the position before everything inserted from an instant on. */
export function placeBefore(inserted_at: string): Position {
  return { inserted_at, event_uuid: null, within: null };
}

/** The next work of a claimed config, as of now. */
export type ConfigState = {
  plugin_name: string | null;
  /** A new text means changed settings or code: the plugin must be loaded again. */
  fingerprint: string;
  position: Position;
  /** Failed deliveries in a row: their events wait, and the config stays enabled. */
  failures: number;
  /** Failures in a row of loading, tasks and jobs; too many of them stop the config. */
  work_failures: number;
  /** The reason for a wait without a failure, as a sentence. */
  held_reason: string | null;
  /** True while it waits for a retry of loading or a task. */
  is_waiting: boolean;
  /** Also false while the delivery waits after a failure. */
  has_events: boolean;
  has_jobs: boolean;
  /** Also false while the delivery waits. */
  has_replays: boolean;
  /** True if its tool must be told of an erasure. */
  has_deletions: boolean;
  /** Due scheduled tasks, each with the start of its present period (ISO 8601). */
  tasks: { name: string; period: string }[];
};

/**
 * Thrown if another worker has claimed the config, or nobody may: it was disabled, deleted or
 * stopped.
 */
export class LeaseLostError extends Error {
  constructor() {
    super('This worker no longer holds the config.');
    this.name = 'LeaseLostError';
  }
}

/**
 * Duration of a lease without renewal; afterwards another worker claims the configs of a killed
 * one.
 */
const lease_seconds = 10;

/** Configs `c` that may run, with their cursor `k`, plugin `p` and the version `v` they run. */
const runnable = sql`
  plugin_cursors k JOIN plugin_configs c ON c.id = k.plugin_config_id JOIN plugins p
    ON p.id = c.plugin_id JOIN plugin_versions v ON v.id = ${run_version_id}
  JOIN projects t ON t.id = c.team_id JOIN organizations o ON o.id = t.organization_id
  WHERE c.enabled AND p.collection <> 'pipeline_frontend_apps' AND o.plugins_access_level > 0`;

/**
 * Returns SQL that is true if another worker has claimed the account of `k`. Uses
 * plugin_cursors_by_account.
 */
const isAccountTaken = (worker: string) =>
  sql`EXISTS (SELECT 1 FROM plugin_cursors o WHERE o.account = k.account
    AND o.account_worker <> ${worker}::uuid AND o.leased_until >= now())`;

/** New events, or waiting events whose retry is due. Uses plugin_waiting_by_next_try. */
const has_events = sql`(p.collection = 'pipeline_destinations' AND (EXISTS (
  SELECT 1 FROM ingestion_states s WHERE s.team_id = c.team_id
    AND s.last_inserted_at >= k.inserted_at) OR EXISTS (
  SELECT 1 FROM plugin_waiting w WHERE w.plugin_config_id = c.id AND w.next_try_at <= now())))`;
// Uses plugin_jobs_by_config.
const has_jobs = sql`EXISTS (SELECT 1 FROM plugin_jobs j WHERE j.plugin_config_id = c.id
  AND j.run_at <= now())`;
// Uses plugin_replays_open.
const has_replays = sql`EXISTS (SELECT 1 FROM plugin_replays r WHERE r.plugin_config_id = c.id
  AND r.finished_at IS NULL AND r.next_at <= now())`;
/**
 * Scheduled tasks that have not run in their present period, by the control store's clock, in UTC.
 */
const due_tasks = sql`
  SELECT task.name, date_trunc(unit.name, now()) AS period
    FROM json_array_elements_text(v.capabilities -> 'scheduled_tasks') AS task (name)
  JOIN (VALUES ('runEveryMinute', 'minute'), ('runEveryHour', 'hour'), ('runEveryDay',
    'day')) AS unit (task, name) ON unit.task = task.name
  WHERE coalesce((k.scheduled ->> task.name)::timestamptz, '-infinity') < date_trunc(unit.name,
    now())`;
/** A change of settings or code ends the pause after a failure. */
const isAhead = (instant: Sql) =>
  sql`coalesce(${instant} > now() AND ${run_changed_at} <= k.updated_at, false)`;
const is_waiting = isAhead(sql`k.work_retry_at`);
/** The pause of a delivery delays neither tasks nor jobs. */
const is_resting = isAhead(sql`k.retry_at`);
const is_delivery_due = sql`(NOT ${is_resting} AND (${has_events} OR ${has_replays}))`;

/**
 * Claims up to `count` configs with work, the least recently served first, and none whose tool
 * account another worker has claimed. Guarantee: one worker at a time holds a config; after a
 * worker's death it is free within 10 seconds.
 */
export async function claimConfigs(db: Database, count: number, worker: string): Promise<Lease[]> {
  const lease_id = uuidv7();
  // SKIP LOCKED: several workers claim at the same time.
  const rows = await db.rows<{ config_id: number; team_id: number }>(sql`
    WITH free AS (
      SELECT k.plugin_config_id, c.team_id FROM ${runnable} AND (k.leased_until IS NULL
        OR k.leased_until < now()) AND NOT ${is_waiting} AND NOT ${isAccountTaken(worker)}
        AND (${is_delivery_due} OR ${has_jobs} OR ${has_deletions} OR EXISTS (${due_tasks}))
      ORDER BY k.served_at, k.plugin_config_id LIMIT ${count} FOR UPDATE OF k SKIP LOCKED)
    UPDATE plugin_cursors k SET leased_by = ${lease_id}, account_worker = NULL,
      leased_until = now() + make_interval(secs => ${lease_seconds}), served_at = now()
    FROM free WHERE k.plugin_config_id = free.plugin_config_id
      RETURNING k.plugin_config_id AS config_id, free.team_id`);
  return rows.map((row) => ({ id: lease_id, ...row }));
}

/**
 * Renews the leases for another 10 seconds and returns the valid ones; omits configs that were
 * disabled, deleted or claimed by others.
 */
export async function renewLeases(db: Database, leases: Lease[]): Promise<Lease[]> {
  const ids = leases.map(({ config_id }) => config_id);
  // SKIP LOCKED would make a busy row look lost, and the awaited locks are short.
  const rows = await db.rows<{ config_id: number; leased_by: string }>(sql`
    UPDATE plugin_cursors k SET leased_until = now() + make_interval(secs => ${lease_seconds})
    FROM unnest(${ids}::integer[], ${leases.map(({ id }) => id)}::uuid[]) AS held (config_id,
      lease_id), plugin_configs c
    WHERE k.plugin_config_id = held.config_id AND k.leased_by = held.lease_id
      AND c.id = k.plugin_config_id AND c.enabled
    RETURNING k.plugin_config_id AS config_id, k.leased_by`);
  return leases.filter(({ id, config_id }) =>
    rows.some((row) => row.config_id === config_id && row.leased_by === id),
  );
}

/** Releases a config at once. */
export async function releaseLease(db: Database, lease: Lease): Promise<void> {
  await db.run(
    sql`UPDATE plugin_cursors SET leased_by = NULL, leased_until = NULL, account_worker = NULL,
        served_at = now()
      WHERE ${isHeld(lease)}`,
  );
}

/** Finds the next work of the config. Throws LeaseLostError. */
export async function getState(db: Database, lease: Lease): Promise<ConfigState> {
  const state = await db.row<ConfigState>(sql`
    SELECT p.name AS plugin_name,
      v.id || ' ' || ${run_changed_at} AS fingerprint, k.failures, k.work_failures,
      k.held_reason, ${is_waiting} AS is_waiting,
      (NOT ${is_resting} AND ${has_events}) AS has_events, ${has_jobs} AS has_jobs,
      ${has_deletions} AS has_deletions, (NOT ${is_resting} AND ${has_replays}) AS has_replays,
      ${position_json} AS "position",
      (SELECT coalesce(json_agg(json_build_object('name', due.name, 'period',
        wire_instant(due.period)) ORDER BY due.name), '[]') FROM (${due_tasks}) due) AS tasks
    FROM ${runnable} AND k.plugin_config_id = ${lease.config_id} AND k.leased_by = ${lease.id}`);
  if (state === undefined) throw new LeaseLostError();
  return state;
}

/**
 * The progress of a delivery to store; `retry_seconds` is the pause before the next try, and `held`
 * the reason why it does not continue. `has_worked`: the destination accepted something, so the
 * plugin works.
 */
type Progress = Pick<ConfigState, 'position' | 'failures'> & {
  has_worked?: boolean;
  retry_seconds?: number;
  held?: string;
};

/**
 * Stores the progress of a delivery. Guarantee: a worker that has lost the config changes nothing,
 * and gets a LeaseLostError.
 */
export async function saveProgress(
  db: Queryable,
  lease: Lease,
  { position, failures, has_worked = false, retry_seconds, held }: Progress,
): Promise<void> {
  const saved = await db.run(sql`
    UPDATE plugin_cursors SET ${movedTo(position)}, failures = ${failures},
      work_failures = CASE WHEN ${has_worked}::boolean THEN 0 ELSE work_failures END,
      retry_at = now() + make_interval(secs => ${retry_seconds ?? null}::float8),
      work_retry_at = NULL, updated_at = now(), ${heldAs(held)}
    WHERE ${isHeld(lease)}`);
  if (saved === 0) throw new LeaseLostError();
}

/** The state after a turn of work other than delivery. */
type Work = {
  /** Failures in a row. */
  work_failures: number;
  /** The scheduled task that has run in its period. */
  task?: ConfigState['tasks'][number];
  /** The pause of all work of the config. */
  retry_seconds?: number;
  /** The reason of a pause without a failure. */
  held?: string;
};

/**
 * Stores the outcome of loading, a task or a job; a waiting delivery keeps waiting. Throws
 * LeaseLostError.
 */
export async function saveWork(
  db: Queryable,
  lease: Lease,
  { work_failures, task, retry_seconds, held }: Work,
): Promise<void> {
  const done = task === undefined ? {} : { [task.name]: task.period };
  const saved = await db.run(sql`
    UPDATE plugin_cursors SET scheduled = scheduled || ${JSON.stringify(done)}::jsonb,
      work_failures = ${work_failures},
      work_retry_at = now() + make_interval(secs => ${retry_seconds ?? null}::float8),
      ${
        retry_seconds === undefined && held === undefined
          ? work_over
          : sql`updated_at = now(), ${heldAs(held)}`
      }
    WHERE ${isHeld(lease)}`);
  if (saved === 0) throw new LeaseLostError();
}

/** Ends the wait of work; a waiting delivery keeps its own reason. */
const work_over = sql`held_reason = CASE WHEN retry_at IS NOT NULL THEN held_reason END,
  held_at = CASE WHEN retry_at IS NOT NULL THEN held_at END`;

function heldAs(held: string | undefined): Sql {
  return sql`held_reason = ${held ?? null}::text,
    held_at = CASE WHEN ${held ?? null}::text IS NULL THEN NULL
      WHEN held_reason = ${held ?? null}::text THEN held_at ELSE now() END`;
}

/** Throws LeaseLostError unless this worker still holds the config. */
export async function requireLease(db: Queryable, lease: Lease): Promise<void> {
  const held = await db.row(sql`SELECT 1 FROM plugin_cursors WHERE ${isHeld(lease)}`);
  if (held === undefined) throw new LeaseLostError();
}

/** Returns a condition on the cursor that is true while the lease is valid. */
export function isHeld({ id, config_id }: Lease) {
  return sql`plugin_config_id = ${config_id} AND leased_by = ${id}`;
}
