import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import { deleteRows, row_tables } from '../../model/removals/delete_rows.ts';
import type { Engine } from '../engine.ts';
import { nobody } from '../../ingest/insert.ts';
import { storedErasedIds } from './stored_erased_ids.ts';

/**
 * Cleans up after a restore of the analytics store alone: removes the deleted projects and erased
 * persons again that were removed after its backup, and lets retention check again. Returns a
 * sentence for each thing that a person has to request again.
 */
export async function removeAgain(
  engine: Engine,
  since: string,
  signal: AbortSignal,
): Promise<string[]> {
  const { clickhouse, db } = engine;
  const team_ids = await strangeProjects(engine);
  if (team_ids.length > 0)
    for (const table of row_tables)
      await deleteRows(
        clickhouse,
        { table, condition: 'team_id IN {team_ids:Array(Int64)}', query_params: { team_ids } },
        signal,
      );
  const erased = await db.rows<{ team_id: number }>(
    sql`SELECT DISTINCT team_id FROM erased_ids ORDER BY team_id`,
  );
  for (const { team_id } of erased) await removeErased(engine, team_id, signal);
  await db.run(sql`UPDATE projects SET retention_looked_at = NULL
    WHERE retention_looked_at IS NOT NULL`);
  const byFilter = await db.rows<{ id: string; team_id: number }>(sql`
    SELECT id, team_id FROM erasures WHERE kind = 'events'
      AND finished_at > ${since}::timestamptz ORDER BY finished_at, id`);
  return byFilter.map(
    ({ id, team_id }) =>
      `Erasure ${id} of project ${team_id} removed events by a filter after the backup. ` +
      'The restore lost the filter: request the erasure again.',
  );
}

/**
 * Finds projects with rows in the analytics store that the control store does not know. Rows that
 * hold the token of a batch belong to none.
 */
async function strangeProjects({ clickhouse, db }: Engine): Promise<number[]> {
  const found = await clickhouse.rows<{ team_id: number | string }>({
    query: `SELECT team_id FROM events WHERE team_id != {nobody:Int64}
      UNION DISTINCT SELECT team_id FROM persons WHERE team_id != {nobody:Int64}`,
    query_params: { nobody },
  });
  const ids = found.map((row) => Number(row.team_id));
  const known = await db.rows<{ id: number }>(sql`SELECT id FROM projects`);
  const own = new Set(known.map(({ id }) => id));
  return ids.filter((id) => !own.has(id)).sort((one, other) => one - other);
}

/**
 * The statements contain no names: the persons are noted as in an erasure, and the notes are
 * dropped again.
 */
async function removeErased(engine: Engine, team_id: number, signal: AbortSignal): Promise<void> {
  const { clickhouse } = engine;
  const erasure_id = randomUUID();
  for await (const erased of storedErasedIds(engine, team_id, signal))
    if (erased.length > 0)
      await clickhouse.insert({
        table: 'erasing_ids',
        values: erased.map((distinct_id) => ({ erasure_id, distinct_id })),
        format: 'JSONEachRow',
      });
  for (const table of ['events', 'persons'] as const)
    await deleteRows(
      clickhouse,
      {
        table,
        condition: `team_id = {team_id:Int64} AND distinct_id IN (
          SELECT distinct_id FROM erasing_ids WHERE erasure_id = {erasure_id:UUID})`,
        query_params: { team_id, erasure_id },
      },
      signal,
    );
  await clickhouse.command({
    query: 'ALTER TABLE erasing_ids DROP PARTITION {erasure_id:UUID}',
    query_params: { erasure_id },
  });
}

/**
 * After a restore of the control store alone, prevents a new project from getting the number of a
 * lost one. Returns the instant after which new rows may be inserted, and a sentence for each lost
 * project, whose rows stay unreachable.
 */
export async function keepClear(engine: Engine): Promise<{ latest: string; said: string[] }> {
  const { clickhouse, clock, db } = engine;
  const strange = await strangeProjects(engine);
  await db.run(sql`SELECT setval(pg_get_serial_sequence('projects', 'id'),
    greatest((SELECT max(id) FROM projects), ${strange.at(-1) ?? 0}, 1))`);
  const [row] = await clickhouse.rows<{ latest: number | string }>({
    query: `SELECT toUnixTimestamp64Milli(max(inserted_at)) AS latest FROM (
      SELECT inserted_at FROM events UNION ALL SELECT inserted_at FROM persons
      UNION ALL SELECT inserted_at FROM session_removals
      UNION ALL SELECT inserted_at FROM group_removals)`,
  });
  return {
    latest: isoInstant(Math.max(clock.now(), Number(row?.latest ?? 0) + 1)),
    said: strange.map(
      (id) =>
        `Project ${id} was created after the backup, so the restored database lacks it. ` +
        'Its events and persons stay in ClickHouse, but nobody can read them. No other ' +
        'project gets its number.',
    ),
  };
}
