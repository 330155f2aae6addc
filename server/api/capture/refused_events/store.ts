import sql from 'sql-template-tag';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { RefusedEventRow } from './schema.ts';

/** A refused event, as it is sent again. */
export type KeptEvent = {
  id: string;
  team_id: number;
  received_at: string;
  path: string;
  content: Buffer;
};

const columns = sql`id, received_at, reason, detail, protocol, path, event, distinct_id,
  length(content) AS bytes`;

/** Lists the refused events of a project, newest first. Uses refused_events_by_project. */
export function listRefusedEvents(team_id: number, reason: string | undefined): List {
  const matching = sql`FROM refused_events WHERE team_id = ${team_id}
    AND (${reason ?? null}::text IS NULL OR reason = ${reason ?? null}::text)`;
  return {
    rows: ({ limit, offset }) => sql`SELECT ${columns} ${matching}
      ORDER BY received_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    count: sql`SELECT count(*) AS count ${matching}`,
  };
}

/** Returns a refused event with its content. */
export function findRefusedEvent(
  db: Queryable,
  team_id: number,
  id: string,
): Promise<(RefusedEventRow & { team_id: number; content: Buffer }) | undefined> {
  return db.row(sql`SELECT ${columns}, team_id, content FROM refused_events
    WHERE team_id = ${team_id} AND id = ${id}`);
}

/** Lists the oldest refused events after an id. */
export function oldestRefusedEvents(
  db: Queryable,
  team_id: number,
  { reason, after }: { reason?: string | undefined; after?: string | undefined },
  rows_max: number,
): Promise<KeptEvent[]> {
  return db.rows(sql`SELECT id, team_id, received_at, path, content FROM refused_events
    WHERE team_id = ${team_id}
      AND (${reason ?? null}::text IS NULL OR reason = ${reason ?? null}::text)
      AND (${after ?? null}::uuid IS NULL OR id > ${after ?? null}::uuid)
    ORDER BY id LIMIT ${rows_max}`);
}

/** Deletes a refused event that is now stored. */
export async function deleteRefusedEvent(db: Queryable, id: string): Promise<void> {
  await db.run(sql`DELETE FROM refused_events WHERE id = ${id}`);
}
