import type { ClickHouse } from '../client.ts';
import { caughtUp } from './caught_up.ts';
import { deduplication_windows, judgeMode, stored_tables } from './mode.ts';
import type { StoreFacts } from './mode.ts';
import { versionWarning } from './versions.ts';

/** Asks the store for its topology; a single node answers one query. */
export async function findFacts(clickhouse: ClickHouse): Promise<StoreFacts> {
  const [own] = await clickhouse.rows<{
    database: string;
    engine: string;
    version: string;
    is_cloud: number;
    replicated: number;
    is_left: number;
    is_target: number;
  }>({
    query: `SELECT name AS database, engine, version() AS version,
      (SELECT count() FROM system.settings WHERE name = 'cloud_mode' AND value = '1') AS is_cloud,
      (SELECT count() FROM system.tables WHERE database = currentDatabase()
        AND engine LIKE 'Replicated%') AS replicated,
      (SELECT count() FROM system.tables WHERE database = currentDatabase()
        AND name = 'events_moved') AS is_left,
      (SELECT count() FROM system.tables WHERE database = currentDatabase()
        AND name = 'moves') AS is_target
    FROM system.databases WHERE name = currentDatabase()`,
  });
  if (own === undefined) throw new Error('The analytics store does not know its own database.');
  const facts = {
    version: own.version,
    database: own.database,
    database_engine: own.engine,
    is_cloud: own.is_cloud > 0,
    is_left: own.is_left > 0,
    is_target: own.is_target > 0,
  };
  const is_plain = !facts.is_cloud && !['Replicated', 'Shared'].includes(own.engine);
  if (is_plain && clickhouse.cluster === undefined && own.replicated === 0)
    return { ...facts, clusters: [], tables: [], table_settings: {} };
  const clusters = await clickhouse.rows<{ cluster: string; shards: number; replicas: number }>({
    query: `SELECT cluster, toUInt32(max(shard_num)) AS shards, toUInt32(count()) AS replicas
    FROM system.clusters GROUP BY cluster ORDER BY cluster`,
  });
  const tables = await clickhouse.rows<StoreFacts['tables'][number]>({
    query: `SELECT name, engine, engine_full FROM system.tables
    WHERE database = currentDatabase() AND name IN (${listed(stored_tables)}) ORDER BY name`,
  });
  const table_settings = await clickhouse.rows<{ name: string; value: string }>({
    query: `SELECT name, value FROM system.merge_tree_settings
    WHERE name IN (${listed(Object.keys(deduplication_windows))})`,
  });
  return {
    ...facts,
    clusters,
    tables,
    table_settings: Object.fromEntries(
      table_settings.map(({ name, value }) => [name, Number(value)]),
    ),
  };
}

/**
 * Determines the store's topology, so that later requests suit it. Returns a sentence if the store
 * is unusable, or if its version needs attention. `is_filled`: a move into it has not ended.
 */
export async function findMode(
  clickhouse: ClickHouse,
): Promise<{ problem?: string; warning?: string | undefined; is_filled?: true }> {
  const facts = await findFacts(clickhouse);
  const judged = judgeMode(facts, clickhouse);
  if (judged.problem !== undefined) return { problem: judged.problem };
  clickhouse.mode = judged.mode;
  if (facts.is_target && (await isFilled(clickhouse))) return { is_filled: true };
  const has_replicas = judged.mode.kind !== 'one_node' && judged.mode.kind !== 'cloud';
  return has_replicas ? { warning: versionWarning([facts.version]) } : {};
}

/** A move records in its target that it has begun, and that it has ended. */
async function isFilled(clickhouse: ClickHouse): Promise<boolean> {
  const marks = await caughtUp(clickhouse, ['moves'], () =>
    clickhouse.rows<{ is_ended: number }>({ query: 'SELECT DISTINCT is_ended FROM moves' }),
  );
  return marks.length > 0 && !marks.some(({ is_ended }) => is_ended === 1);
}

function listed(names: string[]): string {
  return names.map((name) => `'${name}'`).join(', ');
}
