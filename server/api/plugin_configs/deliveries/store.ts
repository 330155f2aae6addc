import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isMeant } from '../../../engine/plugins/running/sending/set_aside.ts';
import type { SetAsideFilter } from '../../../engine/plugins/running/sending/set_aside.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import type {
  DeliveryPoint,
  PluginDeliveryRow,
  ReplayRow,
  SetAsideRecordRow,
  point_lengths,
} from './schema.ts';

/** Returns the progress of a config, with the number of events that were set aside. */
export async function findDelivery(db: Queryable, id: number): Promise<PluginDeliveryRow> {
  return (await db.row<PluginDeliveryRow>(sql`
    SELECT wire_instant(k.inserted_at) AS delivered_until,
      greatest(k.failures, k.work_failures) AS failures,
      wire_instant(CASE WHEN greatest(k.retry_at, k.work_retry_at) > now()
        THEN greatest(k.retry_at, k.work_retry_at) END) AS retry_at,
      (SELECT count(*)::integer FROM plugin_set_aside s
        WHERE s.plugin_config_id = c.id) AS set_aside
    FROM plugin_configs c LEFT JOIN plugin_cursors k ON k.plugin_config_id = c.id
    WHERE c.id = ${id}`))!;
}

/**
 * Returns the instant from which a config gets live events, until now or until the server stopped
 * it. Null: it is off, or the start is unknown.
 */
export async function findLiveStart(tx: Transaction, id: number): Promise<string | null> {
  const row = await tx.row<{ started_at: string | null }>(sql`
    SELECT wire_instant(k.started_at) AS started_at FROM plugin_cursors k
      JOIN plugin_configs c ON c.id = k.plugin_config_id
    WHERE c.id = ${id} AND (c.enabled OR k.stopped_at IS NOT NULL)`);
  return row?.started_at ?? null;
}

const aside_columns = sql`s.id, s.event_uuid, s.event, s.distinct_id, s.mapping, s.status,
  s.reason, s.attempts, s.set_aside_at`;

/** Lists the events that were set aside, newest first. */
export function listSetAside(id: number, filter: SetAsideFilter): List {
  const where = isMeant(id, filter);
  return listOf(aside_columns, sql`plugin_set_aside s WHERE ${where}`, sql`s.id DESC`);
}

/** Returns one of them with its requests and answers. */
export function findSetAside(
  db: Queryable,
  config_id: number,
  id: number,
): Promise<SetAsideRecordRow | undefined> {
  return db.row<SetAsideRecordRow>(sql`SELECT ${aside_columns}, s.exchanges
    FROM plugin_set_aside s WHERE s.plugin_config_id = ${config_id} AND s.id = ${id}`);
}

/** Counts the matching events. */
export async function countSetAside(
  db: Queryable,
  config_id: number,
  filter: SetAsideFilter,
): Promise<number> {
  const row = await db.row<{ count: number }>(sql`SELECT count(*)::integer AS count
    FROM plugin_set_aside s WHERE ${isMeant(config_id, filter)}`);
  return row!.count;
}

/** Deletes the matching events, and returns their number. */
export function discardSetAside(
  tx: Transaction,
  config_id: number,
  filter: SetAsideFilter,
): Promise<number> {
  return tx.run(sql`DELETE FROM plugin_set_aside s WHERE ${isMeant(config_id, filter)}`);
}

const selectReplays = sql`
  SELECT r.id, r.source, CASE WHEN r.ended_by = 'person' THEN 'Cancelled'
      WHEN r.ended_by = 'failures' THEN 'Failed' WHEN r.finished_at IS NOT NULL THEN 'Completed'
      WHEN NOT c.enabled OR r.detail IS NOT NULL THEN 'Waiting'
      ELSE 'Running' END AS state,
    r.start_at, r.end_at, r.events, r.mapping, r.status, r.of_event AS event_uuid, r.reason,
    r.rate, r.total, r.done,
    CASE WHEN r.finished_at IS NULL AND NOT c.enabled THEN 'Waiting for the plugin to be enabled.'
      ELSE r.detail END AS detail,
    CASE WHEN r.finished_at IS NULL AND r.detail IS NOT NULL THEN r.next_at END AS retry_at,
    r.created_at, r.finished_at
  FROM plugin_replays r JOIN plugin_configs c ON c.id = r.plugin_config_id`;

/** Lists the replays of a config, newest first. Uses plugin_replays_by_config. */
export function listReplays(config_id: number): List {
  return {
    rows: (page) => sql`${selectReplays} WHERE r.plugin_config_id = ${config_id}
      ORDER BY r.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM plugin_replays r
      WHERE r.plugin_config_id = ${config_id}`,
  };
}

/** Returns a replay. */
export function findReplay(
  db: Queryable,
  config_id: number,
  id: string,
): Promise<ReplayRow | undefined> {
  return db.row<ReplayRow>(sql`${selectReplays} WHERE r.plugin_config_id = ${config_id}
    AND r.id = ${id}::uuid`);
}

/** Counts the open replays of a config. The caller holds the config's lock. */
export async function countOpenReplays(tx: Transaction, config_id: number): Promise<number> {
  const row = await tx.row<{ count: number }>(sql`SELECT count(*)::integer AS count
    FROM plugin_replays WHERE plugin_config_id = ${config_id} AND finished_at IS NULL`);
  return row!.count;
}

/** A replay to store. */
export type ReplayWanted = {
  id: string;
  config_id: number;
  source: 'events' | 'set_aside';
  filter: SetAsideFilter & { end_at: string };
  rate: number;
  total: number;
  created_by: number | null;
};

/** Stores a replay; a replay without events ends at once. */
export async function insertReplay(tx: Transaction, wanted: ReplayWanted): Promise<void> {
  const { filter } = wanted;
  await tx.run(sql`
    INSERT INTO plugin_replays (id, plugin_config_id, source, start_at, end_at, events, mapping,
      status, of_event, reason, rate, total, inserted_at, created_by, finished_at)
    VALUES (${wanted.id}, ${wanted.config_id}, ${wanted.source}, ${filter.start_at},
      ${filter.end_at}, ${filter.events}, ${filter.mapping}, ${filter.status}, ${filter.of_event},
      ${filter.reason}, ${wanted.rate}, ${wanted.total},
      ${filter.start_at ?? '1970-01-01T00:00:00Z'}, ${wanted.created_by},
      CASE WHEN ${wanted.total === 0}::boolean THEN now() END)`);
}

/** Ends a replay at its position; returns false if it had ended. */
export async function cancelReplay(tx: Transaction, id: string): Promise<boolean> {
  const cancelled = await tx.run(sql`
    UPDATE plugin_replays SET finished_at = now(), ended_by = 'person'
    WHERE id = ${id}::uuid AND finished_at IS NULL`);
  return cancelled > 0;
}

const units: Record<(typeof point_lengths)[number], { start: Sql; seconds: number }> = {
  point: { start: sql`p.start_at`, seconds: 600 },
  hour: { start: sql`date_trunc('hour', p.start_at)`, seconds: 3_600 },
  day: { start: sql`date_trunc('day', p.start_at, 'UTC')`, seconds: 86_400 },
};

/** Returns the points of a config's charts, oldest first. */
export function listPoints(
  db: Queryable,
  config_id: number,
  wanted: { after: string; before: string; interval: (typeof point_lengths)[number] },
  limit: number,
): Promise<DeliveryPoint[]> {
  const { start, seconds } = units[wanted.interval];
  return db.rows<DeliveryPoint>(sql`
    SELECT wire_instant(${start}) AS start_at, sum(p.delivered)::float8 AS delivered,
      sum(p.retried)::float8 AS retried, sum(p.set_aside)::float8 AS set_aside,
      sum(p.delivered)::float8 / ${seconds}::float8 AS per_second,
      sum(p.delay_ms_sum) / nullif(sum(p.delayed), 0)::float8 / 1000 AS delay_seconds,
      CASE WHEN sum(p.delayed) > 0 THEN max(p.delay_ms_max) / 1000 END AS delay_seconds_max
    FROM plugin_delivery_points p WHERE p.plugin_config_id = ${config_id}
      AND p.start_at >= ${wanted.after}::timestamptz AND p.start_at < ${wanted.before}::timestamptz
    GROUP BY 1 ORDER BY 1 LIMIT ${limit}`);
}
