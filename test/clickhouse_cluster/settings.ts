import type { Random } from '../chaos/random.ts';

/**
 * The ways in which a stand-in may be worse than any cluster. Each takes one protection away from
 * its users, so a campaign must then find a loss or a double.
 */
export const weaknesses = [
  /** Definitions reach the node that was asked and no other. */
  'definitions stay on a node',
  /** A cancelled insert leaves its hash and not its rows (ClickHouse#112149). */
  'cancelled inserts leave a hash',
  /** `insert_quorum` is read and not heeded. */
  'no quorum',
  /** `insert_deduplication_token` and hashes of blocks are not heeded. */
  'no deduplication',
  /** Only the last hash is remembered, for any settings of the tables. */
  'short deduplication window',
  /** `clusterAllReplicas` and `ON CLUSTER` of KILL ask the node itself alone. */
  'one node answers for all',
  /** `SYSTEM SYNC REPLICA` and `select_sequential_consistency` do not wait. */
  'no waiting for others',
  /** Mutations reach the node that was asked and no other. */
  'mutations stay on a node',
  /** Every request to a node is answered by any of them, under one name. */
  'requests are spread',
  /** Rows stay on the node that was asked, and all say that they have them. */
  'rows stay on a node',
  /** Between two inserts others insert as many as the window remembers. */
  'others insert without bound',
  /** A block in the format of a copy is answered, and every other one is not stored. */
  'copies lose blocks',
  /** The store that was copied from answers how many rows a day has. */
  'counts of copies are not theirs',
  /** Each replica is a shard of its own, and `system.clusters` says so. */
  'there are several shards',
] as const;

/** One of `weaknesses`. */
export type Weakness = (typeof weaknesses)[number];

/** The amount of faults. Probabilities are per request, times in milliseconds. */
export type Trouble = {
  /** The most time until another replica has a block. */
  fetch_ms_max: number;
  /** One replica, another one for each block, gets it so much later still. */
  straggle_ms: number;
  /** The most time until another replica has a definition. */
  definition_ms_max: number;
  /** The most time until an insert is agreed upon. */
  commit_ms_max: number;
  /** A request arrives late, by so much at most, also when its sender is gone by then. */
  late: number;
  late_ms_max: number;
  /** The connection breaks: with the request, or in the middle of the answer. */
  cut: number;
  /** An insert arrives twice: once more later, or because its first try broke off unseen. */
  repeat: number;
  /** An insert ends with an unknown status, stored or not. */
  unknown: number;
};

/** A cluster in which nothing goes wrong. */
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
  /** The store that things are copied from, where counts of copies are not theirs. */
  told_by?: ((question: string, settings: [string, string][]) => Promise<string>) | undefined;
  random: Random;
};
