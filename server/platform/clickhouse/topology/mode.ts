/**
 * The topology of the analytics store. `one_node` is a single server, also the embedded one; the
 * other three store each row on several replicas. `cluster` is the name for queries of all
 * replicas.
 */
export type Mode =
  | { kind: 'one_node' }
  | { kind: 'replicated_database'; cluster: string; database: string }
  | { kind: 'on_cluster'; cluster: string; database: string }
  | { kind: 'cloud' };

/** A store of one server, which is also the assumption until the store was asked. */
export const one_node: Mode = { kind: 'one_node' };

/** The tables of the analytics store; views are excluded because they have no rows of their own. */
export const stored_tables = [
  'events',
  'persons',
  'session_removals',
  'group_removals',
  'tool_sends',
  'tool_exchanges',
  'erasing_ids',
  'erasing_rows',
  'lake_rows',
  'migrations',
];

/** Facts that the store reports about itself. */
export type StoreFacts = {
  version: string;
  database: string;
  database_engine: string;
  is_cloud: boolean;
  /** True if its rows were moved to another store, or are being moved. */
  is_left: boolean;
  /** True if rows of another store were moved here, or are being moved. */
  is_target: boolean;
  clusters: { cluster: string; shards: number; replicas: number }[];
  /** Our existing tables. */
  tables: { name: string; engine: string; engine_full: string }[];
  /** Settings of new tables, by name. */
  table_settings: Record<string, number>;
};

/** The mode that the configuration asks for. */
export type ModeWanted = { cluster: string | undefined; addresses: number };

/**
 * Blocks and seconds for which replicas remember inserts. A batch with an unknown end is resolved
 * by its token, so a token must outlive every insert that may be in progress. At the highest rate
 * of inserts, 400 a second, 10,000 blocks are 25 s.
 */
export const deduplication_windows = {
  replicated_deduplication_window: 10_000,
  replicated_deduplication_window_seconds: 3_600,
} as const;

/** Returns the mode of a store, or a sentence that says why it is unusable and what to do. */
export function judgeMode(
  facts: StoreFacts,
  wanted: ModeWanted,
): { mode: Mode; problem?: undefined } | { problem: string } {
  if (facts.is_left)
    return {
      problem:
        'its rows were moved to another store, or are being moved. When `sluice ' +
        'migrate-store --switch` has ended, set SLUICE_CLICKHOUSE_URL to the other store. ' +
        'If it was interrupted, run it again first, because the other store still lacks ' +
        'rows. To stay with this one, run `sluice migrate-store --undo`.',
    };
  const mode = modeOf(facts, wanted);
  if (mode.kind === 'one_node') {
    if (wanted.addresses > 1)
      return {
        problem:
          'SLUICE_CLICKHOUSE_URL names several addresses, but the store is no cluster: its ' +
          `database ${facts.database} is not Replicated. Name one address, or set ` +
          'SLUICE_CLICKHOUSE_CLUSTER.',
      };
    const replicated = facts.tables.find(({ engine }) => engine.startsWith('Replicated'));
    if (replicated !== undefined)
      return {
        problem:
          `the table ${replicated.name} is replicated, but no cluster is named. Set ` +
          'SLUICE_CLICKHOUSE_CLUSTER to its name in system.clusters.',
      };
    return { mode };
  }
  const problem =
    (mode.kind === 'cloud' ? undefined : clusterProblem(facts, mode.cluster)) ??
    tableProblem(facts);
  return problem === undefined ? { mode } : { problem };
}

function modeOf({ database, database_engine, is_cloud }: StoreFacts, wanted: ModeWanted): Mode {
  if (is_cloud || database_engine === 'Shared') return { kind: 'cloud' };
  // A Replicated database is a cluster of its own name, whatever others are configured.
  if (database_engine === 'Replicated')
    return { kind: 'replicated_database', cluster: wanted.cluster ?? database, database };
  if (wanted.cluster === undefined) return one_node;
  return { kind: 'on_cluster', cluster: wanted.cluster, database };
}

function clusterProblem({ clusters }: StoreFacts, name: string): string | undefined {
  const found = clusters.find(({ cluster }) => cluster === name);
  if (found === undefined)
    return (
      `it knows no cluster ${name}. Set SLUICE_CLICKHOUSE_CLUSTER to one of ` +
      `${clusters.map(({ cluster }) => cluster).join(', ') || 'system.clusters, which is empty'}.`
    );
  if (found.shards > 1)
    return (
      `the cluster ${name} has ${found.shards} shards. Each event must be on every replica: name ` +
      'a cluster of one shard.'
    );
  return undefined;
}

function tableProblem({ tables, table_settings }: StoreFacts): string | undefined {
  for (const { name, engine, engine_full } of tables) {
    if (!/^(Replicated|Shared)/.test(engine))
      return (
        `the table ${name} is not replicated, so its rows are on one replica alone. Move them by ` +
        '`sluice migrate-store` into a database that has none of our tables.'
      );
    for (const [setting, least] of Object.entries(deduplication_windows)) {
      if (engine.startsWith('Shared')) continue;
      const own = new RegExp(`\\b${setting} = (\\d+)`).exec(engine_full)?.[1];
      const value = Number(own ?? table_settings[setting] ?? least);
      if (value < least)
        return (
          `the table ${name} has ${setting} = ${value}, so that a repeated insert could be taken ` +
          `twice. Set it to ${least} or more.`
        );
    }
  }
  return undefined;
}
