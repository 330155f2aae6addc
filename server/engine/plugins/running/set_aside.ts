import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';
import type { PluginEvent } from './read_events.ts';

/** An event that a tool did not take at one mapping. */
export type SetAside = {
  event: Pick<PluginEvent, 'uuid' | 'event' | 'distinct_id'>;
  mapping: string;
  status: number | null;
  reason: string;
};

/** One that is stored, in the order in which they were set aside. */
export type StoredSetAside = { id: string; event_uuid: string; mapping: string };

/** Sets an event aside, or notes another attempt. Once per event and mapping. */
export async function setAside(
  db: Database,
  config_id: number,
  { event, mapping, status, reason }: SetAside,
): Promise<void> {
  // A config that was deleted meanwhile has nothing set aside.
  await db.run(sql`
    INSERT INTO plugin_set_aside AS s (plugin_config_id, event_uuid, event, distinct_id, mapping,
      status, reason)
    SELECT c.id, ${event.uuid}::uuid, ${event.event}::text, ${event.distinct_id}::text,
      ${mapping}::text, ${status}::integer, ${reason}::text
    FROM plugin_configs c WHERE c.id = ${config_id}
    ON CONFLICT (plugin_config_id, event_uuid, mapping) DO UPDATE SET status = excluded.status,
      reason = excluded.reason, attempts = s.attempts + 1, set_aside_at = now()`);
}

/** The oldest ones of a config after `id`; of one event, if its uuid is given. */
export function listSetAside(
  db: Database,
  config_id: number,
  after: { id: string; event_uuid: string | undefined },
): Promise<StoredSetAside[]> {
  return db.rows<StoredSetAside>(sql`
    SELECT id::text AS id, event_uuid, mapping FROM plugin_set_aside
    WHERE plugin_config_id = ${config_id} AND id > ${after.id}::bigint
      AND (${after.event_uuid ?? null}::uuid IS NULL
        OR event_uuid = ${after.event_uuid ?? null}::uuid)
    ORDER BY id LIMIT 100`);
}

/** Removes one that was sent, or whose event is gone. */
export async function removeSetAside(db: Database, id: string): Promise<void> {
  await db.run(sql`DELETE FROM plugin_set_aside WHERE id = ${id}::bigint`);
}
