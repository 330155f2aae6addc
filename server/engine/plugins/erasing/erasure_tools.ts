import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findTool } from '../tools/catalogue.ts';

/** The ids of an erasure for a tool. */
export type ErasureTool = {
  id: string;
  ids: string[];
  /** Number of finished ids, in order. */
  done: number;
  told: number;
  failed: number;
  attempts: number;
  detail: string | null;
};

/** After this many days, Sluice gives up on a tool that accepts nothing. */
const days_max = 3;

/** Returns the context that seals the ids of an erasure for a tool. */
export function toolIdsContext(id: string): string {
  return `erasure_tools:${id}:ids_sealed`;
}

type Place = { erasure_id: string; team_id: number };

/**
 * Records for an erasure of persons which plugins got events of the project, and the ids to send to
 * its tools. Records each plugin once, however often it is called.
 */
export async function noteTools(
  { db, secrets }: { db: Database; secrets: Secrets },
  { erasure_id, team_id }: Place,
  ids: string[],
): Promise<void> {
  if (ids.length === 0) return;
  const configs = await db.rows<{ id: number; name: string; url: string; enabled: boolean }>(sql`
    SELECT c.id, coalesce(p.name, '') AS name, coalesce(p.url, '') AS url, c.enabled
    FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id
      JOIN plugin_cursors k ON k.plugin_config_id = c.id
    WHERE c.team_id = ${team_id} AND p.collection = 'pipeline_destinations'`);
  for (const { id: config_id, name, url, enabled } of configs) {
    const id = uuidv7();
    const isTool = findTool(url) !== undefined;
    const detail = !isTool
      ? 'Only tools of the catalogue can receive erasures.'
      : enabled
        ? null
        : 'The tool was switched off.';
    const sealed = detail === null ? secrets.seal(JSON.stringify(ids), toolIdsContext(id)) : null;
    await db.run(sql`
      INSERT INTO erasure_tools (id, erasure_id, plugin_config_id, name, state, detail, ids_sealed,
        ids)
      VALUES (${id}::uuid, ${erasure_id}::uuid, ${config_id}, ${name},
        ${detail === null ? 'waiting' : 'cannot'}, ${detail}, ${sealed}, ${ids.length})
      ON CONFLICT (erasure_id, plugin_config_id) DO NOTHING`);
  }
}

/**
 * Gives up the rest if the tool was disabled or removed, or has accepted nothing for three days.
 * Returns how many tools are still waiting.
 */
export async function countWaitingTools(db: Database, erasure_id: string): Promise<number> {
  await db.run(sql`
    UPDATE erasure_tools e SET state = 'failed', ids_sealed = NULL,
      detail = CASE WHEN c.id IS NULL THEN 'The tool was removed before it was told.'
        WHEN NOT c.enabled THEN 'The tool was switched off before it was told.'
        ELSE concat_ws(' ', 'Given up after three days.', e.detail) END
    FROM erasure_tools x LEFT JOIN plugin_configs c ON c.id = x.plugin_config_id
    WHERE e.id = x.id AND e.erasure_id = ${erasure_id}::uuid AND e.state = 'waiting'
      AND (c.id IS NULL OR NOT c.enabled
        OR e.created_at < now() - make_interval(days => ${days_max}))`);
  const row = await db.row<{ count: number }>(sql`SELECT count(*)::integer AS count
    FROM erasure_tools WHERE erasure_id = ${erasure_id}::uuid AND state = 'waiting'`);
  return row!.count;
}

/** Returns SQL that is true if config `c` must tell its tool of an erasure now. */
export const has_deletions = sql`EXISTS (SELECT 1 FROM erasure_tools e
  WHERE e.plugin_config_id = c.id AND e.state = 'waiting' AND e.due_at <= now())`;

/** Finds the oldest erasure that the config's tool must be told of. */
export async function findDueTool(
  { db, secrets }: { db: Database; secrets: Secrets },
  config_id: number,
): Promise<ErasureTool | undefined> {
  const row = await db.row<Omit<ErasureTool, 'ids'> & { ids_sealed: Buffer }>(sql`
    SELECT id, ids_sealed, done, told, failed, attempts, detail FROM erasure_tools
    WHERE plugin_config_id = ${config_id} AND state = 'waiting' AND due_at <= now()
    ORDER BY created_at, id LIMIT 1`);
  if (row === undefined) return undefined;
  const { ids_sealed, ...tool } = row;
  const ids = JSON.parse(secrets.open(ids_sealed, toolIdsContext(row.id))) as string[];
  return { ...tool, ids };
}

/** Stores the progress of a tool; `wait_seconds` until the next try. */
export async function saveTool(
  db: Database,
  { id, done, told, failed, attempts, detail }: ErasureTool,
  wait_seconds: number,
): Promise<void> {
  await db.run(sql`UPDATE erasure_tools SET done = ${done}, told = ${told}, failed = ${failed},
    attempts = ${attempts}, detail = ${detail},
    due_at = now() + make_interval(secs => ${wait_seconds}::float8)
    WHERE id = ${id}::uuid AND state = 'waiting'`);
}

/** Stores the end, and deletes the ids. */
export async function endTool(
  db: Database,
  { id, ids, told, failed, detail }: ErasureTool,
): Promise<void> {
  const state = failed > 0 ? 'failed' : told > 0 ? 'told' : 'cannot';
  const reason =
    state === 'cannot' ? 'The tool has no deletion request for these persons.' : detail;
  await db.run(sql`UPDATE erasure_tools SET state = ${state}, told = ${told}, failed = ${failed},
    done = ${ids.length}, ids_sealed = NULL, told_at = now(),
    detail = ${state === 'told' ? null : reason}
    WHERE id = ${id}::uuid AND state = 'waiting'`);
}
