import sql from 'sql-template-tag';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { RefusedEvent } from './refused_event.ts';

/** Bytes that are stored of a project and a day (UTC), and the number of refused events. */
const day_bytes_max = 20 * 1024 * 1024;
const day_rows_max = 10_000;

const day_ms = 24 * 3_600_000;

/**
 * Stores them in one statement, while their project has room on their day; skips deleted projects.
 * Two processes at once may store a second's worth more.
 */
export async function storeRefusedEvents(db: Database, events: RefusedEvent[]): Promise<void> {
  const column = <Name extends keyof RefusedEvent>(name: Name) => events.map((one) => one[name]);
  await db.run(sql`
    WITH given AS (
      SELECT * FROM unnest(${column('id')}::uuid[], ${column('team_id')}::integer[],
        ${column('received_at')}::timestamptz[], ${column('reason')}::text[],
        ${column('detail')}::text[], ${column('protocol')}::text[], ${column('path')}::text[],
        ${column('content')}::bytea[], ${column('event')}::text[],
        ${column('distinct_id')}::text[])
        AS g (id, team_id, received_at, reason, detail, protocol, path, content, event,
          distinct_id)),
    present AS (SELECT id FROM projects WHERE id IN (SELECT team_id FROM given) ORDER BY id
      FOR KEY SHARE),
    placed AS (
      SELECT given.*, date_trunc('day', received_at, 'UTC') AS day,
        sum(length(content)) OVER before AS bytes, count(*) OVER before AS rows
      FROM given JOIN present ON present.id = given.team_id
      WINDOW before AS (PARTITION BY team_id, date_trunc('day', received_at, 'UTC')
        ORDER BY received_at, given.id)),
    -- Leans on refused_events_by_project.
    kept AS MATERIALIZED (
      SELECT d.team_id, d.day, coalesce(sum(length(r.content)), 0) AS bytes, count(r.id) AS rows
      FROM (SELECT DISTINCT team_id, day FROM placed) AS d
        LEFT JOIN refused_events r ON r.team_id = d.team_id AND r.received_at >= d.day
          AND r.received_at < d.day + interval '1 day'
      GROUP BY 1, 2)
    INSERT INTO refused_events (id, team_id, received_at, reason, detail, protocol, path, content,
      event, distinct_id)
    SELECT p.id, p.team_id, p.received_at, p.reason, p.detail, p.protocol, p.path, p.content,
      p.event, p.distinct_id
    FROM placed p JOIN kept k ON k.team_id = p.team_id AND k.day = p.day
    WHERE p.bytes + k.bytes <= ${day_bytes_max}::bigint
      AND p.rows + k.rows <= ${day_rows_max}::bigint
    ON CONFLICT DO NOTHING`);
}

/** Removes refused events older than this many days. Uses refused_events_by_age. */
export async function sweepRefusedEvents(
  db: Queryable,
  kept_days: number,
  now_ms: number,
): Promise<void> {
  await db.run(sql`DELETE FROM refused_events
    WHERE received_at < ${isoInstant(now_ms - kept_days * day_ms)}::timestamptz`);
}
