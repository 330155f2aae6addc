import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Database, Queryable } from '../../../../platform/postgres/database.ts';
import type { ToolExchange } from '../../sandbox/tool_outcome.ts';
import { HoldError } from '../hold.ts';
import type { PluginEvent } from '../read_events.ts';

/** An event that a tool did not accept at one mapping; reason and exchanges are masked. */
export type SetAside = {
  event: Pick<PluginEvent, 'uuid' | 'event' | 'distinct_id'>;
  mapping: string;
  status: number | null;
  reason: string;
  exchanges: ToolExchange[];
};

/** A stored one, in the order of storing. */
export type StoredSetAside = {
  id: string;
  event_uuid: string;
  mapping: string;
  attempts: number;
};

/** A selection of them; a null restricts nothing. */
export type SetAsideFilter = {
  start_at: string | null;
  end_at: string | null;
  events: string[] | null;
  mapping: string | null;
  status: number | null;
  of_event: string | null;
  reason: string | null;
};

/** Number of events that may still be set aside before the next count. */
export type SetAsideRoom = { left: number };

/** Number of events that a config may have set aside, once for each mapping. */
const set_aside_max = 100_000;

/**
 * Sets an event aside, or records another attempt. Stored once per event and mapping. Throws a
 * HoldError at the limit, so that the next events wait.
 */
export async function setAside(
  db: Database,
  config_id: number,
  room: SetAsideRoom,
  { event, mapping, status, reason, exchanges }: SetAside,
): Promise<void> {
  if (room.left <= 0) room.left = set_aside_max - (await countSetAside(db, config_id));
  if (room.left <= 0)
    throw new HoldError(
      `${set_aside_max.toLocaleString('en')} events are set aside, which is the limit. ` +
        'Send them again or discard them. Until then events wait, and none is lost.',
    );
  room.left -= 1;
  // A config that was deleted meanwhile has no such events.
  await db.run(sql`
    INSERT INTO plugin_set_aside AS s (plugin_config_id, event_uuid, event, distinct_id, mapping,
      status, reason, exchanges)
    SELECT c.id, ${event.uuid}::uuid, ${event.event}::text, ${event.distinct_id}::text,
      ${mapping}::text, ${status}::integer, ${reason}::text, ${JSON.stringify(exchanges)}::json
    FROM plugin_configs c WHERE c.id = ${config_id}
    ON CONFLICT (plugin_config_id, event_uuid, mapping) DO UPDATE SET status = excluded.status,
      reason = excluded.reason, exchanges = excluded.exchanges, attempts = s.attempts + 1,
      set_aside_at = now()`);
}

async function countSetAside(db: Database, config_id: number): Promise<number> {
  const row = await db.row<{ count: number }>(sql`SELECT count(*)::integer AS count
    FROM plugin_set_aside WHERE plugin_config_id = ${config_id}`);
  return row!.count;
}

/** Returns the condition on the selected events `s`. Uses plugin_set_aside_by_config. */
export function isMeant(config_id: number, filter: SetAsideFilter): Sql {
  const { start_at, end_at, events, mapping, status, of_event, reason } = filter;
  return sql`s.plugin_config_id = ${config_id}
    AND (${start_at}::timestamptz IS NULL OR s.set_aside_at >= ${start_at}::timestamptz)
    AND (${end_at}::timestamptz IS NULL OR s.set_aside_at < ${end_at}::timestamptz)
    AND (${events}::text[] IS NULL OR s.event = ANY (${events}::text[]))
    AND (${mapping}::text IS NULL OR s.mapping = ${mapping}::text)
    AND (${status}::integer IS NULL OR s.status = ${status}::integer)
    AND (${of_event}::uuid IS NULL OR s.event_uuid = ${of_event}::uuid)
    AND (${reason}::text IS NULL OR strpos(lower(s.reason), lower(${reason}::text)) > 0)`;
}

/** Lists the oldest selected ones after `after_id`. */
export function listSetAside(
  db: Database,
  config_id: number,
  filter: SetAsideFilter,
  { after_id, count }: { after_id: string; count: number },
): Promise<StoredSetAside[]> {
  return db.rows<StoredSetAside>(sql`
    SELECT s.id::text AS id, s.event_uuid, s.mapping, s.attempts FROM plugin_set_aside s
    WHERE s.id > ${after_id}::bigint AND ${isMeant(config_id, filter)}
    ORDER BY s.id LIMIT ${count}`);
}

/**
 * Removes events that were sent or now wait, and events that are gone. An event that was set aside
 * again since it was read stays.
 */
export async function removeSetAside(tx: Queryable, rows: StoredSetAside[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(sql`DELETE FROM plugin_set_aside WHERE (id, attempts) IN (SELECT * FROM unnest(
    ${rows.map(({ id }) => id)}::bigint[], ${rows.map(({ attempts }) => attempts)}::integer[]))`);
}
