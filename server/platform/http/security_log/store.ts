import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../clock.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import type { SecurityEvent } from './security_event.ts';
import { security_words } from './words.ts';

/** The advisory lock that lets one process write at a time, so that numbers grow. */
const writing_lock = 7_301_023;
const kept_ms = 400 * 24 * 3_600_000;
/** Most organizations of a person that store one of their events. */
const organizations_max = 100;
const removed_at_once = 10_000;

/** A row: an event in the list of one organization or of one person. */
type Place = { index: number; organization_id: string | null; user_id: number | null };

/**
 * Stores events in the lists of the affected parties, in one transaction. Guarantee: numbers grow
 * from commit to commit, over all processes, so that a reader who continues after a number misses
 * none.
 */
export async function insertSecurityEvents(
  db: Database,
  events: SecurityEvent[],
  now_ms: number,
): Promise<void> {
  const asked = concernedBy(events);
  if (asked.length === 0) return;
  await db.transaction(async (tx) => {
    const places = await findPlaces(tx, asked);
    if (places.length === 0) return;
    await tx.row(sql`SELECT pg_advisory_xact_lock(${writing_lock})`);
    // In the order of arrival, which is also that of the ids.
    places.sort((one, other) => one.index - other.index);
    const rows = places.map(({ index, organization_id, user_id }) => {
      const { event, more: _more, organizations: _all, created_at_ms, ...told } = events[index]!;
      const created_at = isoInstant(created_at_ms);
      return { ...told, event, created_at, id: uuidv7(), organization_id, user_id };
    });
    await tx.run(sql`
      INSERT INTO security_events (number, id, organization_id, user_id, user_uuid, user_email,
        event, reason, key_mask, session_id, ip, user_agent, method, route, item_id, request_id,
        count, created_at)
      SELECT last.number + row_number() OVER (ORDER BY row.id), row.id,
        row.organization_id, row.user_id, row.user_uuid, row.user_email, row.event, row.reason,
        row.key_mask, row.session_id, row.ip, row.user_agent, row.method, row.route, row.item_id,
        row.request_id, row.count, row.created_at
      FROM (SELECT greatest(coalesce(max(number), 0), ${now_ms * 1_000}::bigint) AS number
          FROM security_events) last,
        jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS row (id uuid, organization_id uuid,
          user_id integer, user_uuid uuid, user_email text, event text, reason text, key_mask text,
          session_id uuid, ip text, user_agent text, method text, route text, item_id text,
          request_id text, count integer, created_at timestamptz)`);
  });
}

/** Returns the candidates that each event may affect; none for an event without a subject. */
function concernedBy(events: SecurityEvent[]) {
  return events.flatMap(({ event, user_id, organization_id, organizations }, index) => {
    const { concerns } = security_words[event];
    return concerns === 'nobody' || (user_id === null && organization_id === null)
      ? []
      : [{ index, user_id, organization_id, organizations, is_of_homes: concerns === 'homes' }];
  });
}

/**
 * Finds the lists for each event: the person's own, and those of existing organizations. Events of
 * `homes` go to the person's current organizations.
 */
function findPlaces(tx: Transaction, asked: ReturnType<typeof concernedBy>): Promise<Place[]> {
  return tx.rows<Place>(sql`
    WITH asked AS (SELECT * FROM jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) AS one (
      index integer, user_id integer, organization_id uuid, organizations uuid[],
      is_of_homes boolean))
    SELECT a.index, NULL::uuid AS organization_id, u.id AS user_id FROM asked a
      JOIN users u ON u.id = a.user_id
    UNION ALL SELECT a.index, o.id, NULL FROM asked a JOIN organizations o
      ON o.id = a.organization_id
    UNION ALL SELECT a.index, home.organization_id, NULL FROM asked a CROSS JOIN LATERAL (
      SELECT m.organization_id FROM members m WHERE m.user_id = a.user_id
        AND (a.organizations IS NULL OR m.organization_id = ANY (a.organizations))
        ORDER BY m.joined_at, m.id LIMIT ${organizations_max}) home
      WHERE a.organization_id IS NULL AND a.is_of_homes`);
}

/**
 * Removes events older than 400 days, in batches, until none is left or `signal` stops it. Uses
 * security_events_by_age.
 */
export async function sweepSecurityEvents(
  db: Database,
  now_ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const before = isoInstant(now_ms - kept_ms);
  for (let removed = removed_at_once; removed === removed_at_once;) {
    if (signal?.aborted === true) return;
    removed = await db.run(sql`
      DELETE FROM security_events WHERE number IN (SELECT number FROM security_events
        WHERE created_at < ${before}::timestamptz ORDER BY created_at LIMIT ${removed_at_once})`);
  }
}
