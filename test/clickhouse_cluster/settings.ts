import type { Random } from '../chaos/random.ts';

/**
 * The ways in which a stand-in may be worse than any cluster. Each removes one protection, so a
 * campaign must then find a lost or a duplicate row.
 */
export const weaknesses = [
  /** Definitions only reach the addressed node. */
  'definitions stay on a node',
  /** A cancelled insert leaves its hash and not its rows (ClickHouse#112149). */
  'cancelled inserts leave a hash',
  /** `insert_quorum` has no effect. */
  'no quorum',
  /** `insert_deduplication_token` and hashes of blocks have no effect. */
  'no deduplication',
  /** Only the last hash is remembered, whatever the tables' settings. */
  'short deduplication window',
  /** `clusterAllReplicas` and `ON CLUSTER` of KILL only ask the node itself. */
  'one node answers for all',
  /** `SYSTEM SYNC REPLICA` and `select_sequential_consistency` do not wait. */
  'no waiting for others',
  /** Mutations only reach the addressed node. */
  'mutations stay on a node',
  /** Any node answers each request, under one name. */
  'requests are spread',
  /** Rows stay on the addressed node, and all nodes report that they have them. */
  'rows stay on a node',
  /** Between two inserts, others insert as many blocks as the window remembers. */
  'others insert without bound',
  /** A block in the format of a copy is acknowledged, but only every second one is stored. */
  'copies lose blocks',
  /** The source store answers the number of rows of a day. */
  'counts of copies are not theirs',
  /** Each replica is its own shard, as `system.clusters` shows. */
  'there are several shards',
] as const;

/** One of `weaknesses`. */
export type Weakness = (typeof weaknesses)[number];

/** The amount of faults. Probabilities are for each request, times in milliseconds. */
export type Trouble = {
  /** Longest time until another replica has a block. */
  fetch_ms_max: number;
  /** One replica, another one for each block, gets it this much later. */
  straggle_ms: number;
  /** Longest time until another replica has a definition. */
  definition_ms_max: number;
  /** Longest time until an insert is agreed on. */
  commit_ms_max: number;
  /** A request arrives late, by at most this time, even if its sender is gone by then. */
  late: number;
  late_ms_max: number;
  /** The connection breaks: during the request, or in the middle of the answer. */
  cut: number;
  /** An insert arrives twice: again later, or because its first attempt broke off unnoticed. */
  repeat: number;
  /** An insert ends with an unknown status, stored or not. */
  unknown: number;
};

/** A cluster without faults. */
export const no_trouble: Trouble = {
  fetch_ms_max: 0,
  straggle_ms: 0,
  definition_ms_max: 0,
  commit_ms_max: 0,
  late: 0,
  late_ms_max: 0,
  cut: 0,
  repeat: 0,
  unknown: 0,
};

/** The settings of a stand-in. `folder` is empty and only its own. */
export type ClusterSettings = {
  folder: string;
  /** The kind of its database: `Replicated`, or one whose definitions need `ON CLUSTER`. */
  mode: 'replicated_database' | 'on_cluster';
  replicas: number;
  database: string;
  /** The name in `system.clusters`. */
  cluster: string;
  version: string;
  /** The value in `system.merge_tree_settings`, which the stand-in follows. */
  replicated_deduplication_window: number;
  trouble: Trouble;
  weaknesses: ReadonlySet<Weakness>;
  /** The store of a copy, if the counts of copies are not its own. */
  told_by?: ((question: string, settings: [string, string][]) => Promise<string>) | undefined;
  random: Random;
};
