import { Failure, NoAnswer } from './failure.ts';
import { settingOf } from './insert.ts';
import { beginEntry } from './keeper.ts';
import type { Definition, Entry, TableLog } from './keeper.ts';
import type { Replica } from './replica.ts';
import { apply, define, isActive, isAllBeforeDone, logAt, noteTable } from './replication.ts';
import type { Cluster } from './replication.ts';
import { withoutReplication } from './statements.ts';

/** A statement about a table, with its settings; `all` means ON CLUSTER. */
export type Definable = {
  table: string;
  text: string;
  all: boolean;
  settings: [string, string][];
};

const ddl_seconds_default = 180;
const change_ms_max = 120_000;

/**
 * Runs a definition at the addressed replica. If the database is `Replicated` or the statement has
 * ON CLUSTER, all others follow, each in its own time. Waits as `distributed_ddl_output_mode` says.
 * Throws the first replica's error.
 */
export async function defineTable(
  cluster: Cluster,
  replica: Replica,
  { table, text, all, settings }: Definable,
): Promise<void> {
  const { mode, weaknesses, trouble, random } = cluster.settings;
  requireFitting(cluster, all);
  const is_shared = mode === 'replicated_database' || all;
  if (!is_shared || weaknesses.has('definitions stay on a node')) {
    await replica.ask({ text: withoutReplication(text), settings });
    noteTable(cluster, replica, { table, text, source: is_shared ? replica.index : -1 });
    return;
  }
  requireKeeper(cluster);
  const now = performance.now();
  const definition: Definition = {
    table,
    text,
    settings,
    source: replica.index,
    due: cluster.replicas.map(({ index }) =>
      index === replica.index ? now : now + random.between(0, trouble.definition_ms_max),
    ),
    outcomes: new Map(),
  };
  cluster.keeper.definitions.push(definition);
  await define(cluster, replica, definition);
  await waitForAll(cluster, definition);
}

async function waitForAll(cluster: Cluster, definition: Definition): Promise<void> {
  const { settings, outcomes } = definition;
  const mode = settingOf(settings, 'distributed_ddl_output_mode') ?? 'throw';
  const seconds = settingOf(settings, 'distributed_ddl_task_timeout') ?? ddl_seconds_default;
  const only_active = mode.endsWith('_only_active');
  const is_done = await cluster.changes.until(
    () =>
      cluster.replicas.every(
        (one) => outcomes.has(one.index) || (only_active && !isActive(cluster, one)),
      ),
    Number(seconds) * 1_000,
  );
  const failed = [...outcomes.values()].find((outcome) => outcome !== undefined);
  if (failed !== undefined && mode !== 'never_throw') throw failed;
  if (!is_done && /^(throw|none)/.test(mode))
    throw new Failure(
      159,
      'TIMEOUT_EXCEEDED',
      'Distributed DDL task is not finished on some of the hosts: it is going to be executed in ' +
        'background.',
    );
}

/**
 * Changes the rows or columns of a table. A change of a replicated table reaches all replicas by
 * the table's own log, after all earlier inserts. It waits as `mutations_sync` and `alter_sync`
 * say.
 */
export async function changeTable(
  cluster: Cluster,
  replica: Replica,
  { table, text, all, settings }: Definable,
): Promise<void> {
  requireFitting(cluster, all);
  const log = logAt(cluster, replica, table);
  if (log === undefined) return defineTable(cluster, replica, { table, text, all, settings });
  requireKeeper(cluster);
  const is_mutation = /\b(DELETE|UPDATE)\b[\s\S]*\bWHERE\b/i.test(text);
  const sync = settingOf(settings, is_mutation ? 'mutations_sync' : 'alter_sync');
  const waits_for = Number(sync ?? (is_mutation ? 0 : 1));
  const entry = begin(cluster, replica, log, { text, settings });
  if (is_mutation && waits_for === 0) {
    entry.state = 'agreed';
    return;
  }
  await changeSource(cluster, replica, log, entry);
  if (waits_for > 1 || !is_mutation) await waitForReplicas(cluster, log, entry);
}

function begin(
  { replicas, settings: { random, trouble } }: Cluster,
  replica: Replica,
  log: TableLog,
  { text, settings }: Pick<Entry, 'text' | 'settings'>,
): Entry {
  const now = performance.now();
  return beginEntry(log, {
    kind: 'change',
    text,
    settings,
    source: replica.index,
    due: replicas.map(() => now + random.between(0, trouble.fetch_ms_max)),
  });
}

async function changeSource(
  cluster: Cluster,
  replica: Replica,
  log: TableLog,
  entry: Entry,
): Promise<void> {
  try {
    const is_next = await cluster.changes.until(
      () => isAllBeforeDone(log, entry, replica.index),
      change_ms_max,
    );
    if (!is_next) throw new Failure(341, 'UNFINISHED', 'The replica is behind for too long.');
    await apply(cluster, replica, log, entry);
    entry.state = 'agreed';
  } catch (error) {
    // A cut statement continues on its own; a refused one is refused for all replicas.
    entry.state = error instanceof NoAnswer ? 'agreed' : 'void';
    throw error;
  } finally {
    cluster.changes.tell();
  }
}

async function waitForReplicas(cluster: Cluster, log: TableLog, entry: Entry): Promise<void> {
  const members = () => cluster.replicas.filter(({ index }) => log.members.has(index));
  const away = () =>
    members().find((one) => !isActive(cluster, one) && !entry.holders.has(one.index));
  const isDone = () => members().every(({ index }) => entry.holders.has(index));
  await cluster.changes.until(() => isDone() || away() !== undefined, change_ms_max);
  if (!isDone())
    throw new Failure(
      341,
      'UNFINISHED',
      `Mutation is not finished because some replicas are inactive right now: ${away()?.name}.`,
    );
}

/** In a `Replicated` database ON CLUSTER is a mistake. */
function requireFitting({ settings: { mode } }: Cluster, all: boolean): void {
  if (mode === 'replicated_database' && all)
    throw new Failure(
      80,
      'INCORRECT_QUERY',
      "It's not initial query. ON CLUSTER is not allowed for Replicated database.",
    );
}

function requireKeeper({ keeper }: Cluster): void {
  if (keeper.is_away)
    throw new Failure(999, 'KEEPER_EXCEPTION', 'Coordination error: Connection loss.');
}
