import { setTimeout as pause } from 'node:timers/promises';
import { Failure, NoAnswer } from './failure.ts';
import { firstOpen, isDoneAt, openEntries } from './keeper.ts';
import type { Definition, Entry, Keeper, TableLog } from './keeper.ts';
import type { Replica } from './replica.ts';
import { readEngine, withoutReplication } from './statements.ts';
import type { ClusterSettings } from './settings.ts';
import { openChanges } from './wait_for.ts';
import type { Changes } from './wait_for.ts';

/** All parts of a stand-in. */
export type Cluster = {
  settings: ClusterSettings;
  keeper: Keeper;
  replicas: Replica[];
  /** Wakes everyone who waits for a change. */
  changes: Changes;
  is_closed: boolean;
};

const look_ms = 15;
const engine_wait_ms_max = 60_000;

/** True while the replica participates: it reaches Keeper and the others. */
export function isActive({ keeper }: Cluster, replica: Replica): boolean {
  return replica.state === 'up' && !keeper.is_away;
}

/** Returns the parts of a new cluster around started replicas. */
export function joinCluster(settings: ClusterSettings, keeper: Keeper, replicas: Replica[]) {
  return { settings, keeper, replicas, changes: openChanges(), is_closed: false } as Cluster;
}

/** Copies another replica's state into a recreated table of a replica. */
export type Copy = (cluster: Cluster, replica: Replica, log: TableLog) => Promise<void>;

/** Lets a replica follow the logs until the cluster is closed. */
export async function replicate(cluster: Cluster, replica: Replica, copy: Copy): Promise<void> {
  while (!cluster.is_closed) {
    // An engine that is down is asked again.
    if (isActive(cluster, replica)) await follow(cluster, replica, copy).catch(() => undefined);
    await pause(look_ms);
  }
}

async function follow(cluster: Cluster, replica: Replica, copy: Copy): Promise<void> {
  for (const definition of cluster.keeper.definitions) {
    if (definition.outcomes.has(replica.index)) continue;
    if (performance.now() < (definition.due[replica.index] ?? 0)) break;
    await define(cluster, replica, definition);
  }
  for (const log of replica.to_copy) await copy(cluster, replica, log);
  for (const log of new Set(replica.tables.values()))
    for (const entry of openEntries(log, replica.index)) {
      // Rows are fetched in any order, but no entry overtakes a change.
      if (mayApply(cluster, replica, log, entry)) await apply(cluster, replica, log, entry);
    }
}

function mayApply(cluster: Cluster, replica: Replica, log: TableLog, entry: Entry): boolean {
  const { settings, replicas } = cluster;
  const is_source = entry.source === replica.index;
  const kept_back = entry.kind === 'change' ? 'mutations stay on a node' : 'rows stay on a node';
  if (!is_source && settings.weaknesses.has(kept_back)) {
    entry.holders.add(replica.index);
    cluster.changes.tell();
  }
  if (entry.holders.has(replica.index)) return false;
  const is_turn =
    entry.kind === 'change'
      ? isAllBeforeDone(log, entry, replica.index)
      : !hasOpenChange(log, replica.index, entry.number);
  if (!is_turn) return false;
  if (is_source) return true;
  const now = performance.now();
  if (now < (entry.due[replica.index] ?? 0) || now < replica.fetches_from) return false;
  // The log itself has the change; rows are fetched from a replica that has them.
  if (entry.kind === 'change') return true;
  return [...entry.holders].some((holder) => replicas[holder]?.state === 'up');
}

/** Returns true if the replica has done everything before the entry. */
export function isAllBeforeDone(log: TableLog, entry: Entry, replica: number): boolean {
  return firstOpen(log, replica) >= entry.number;
}

/** Returns true if an earlier change is not done at the replica. */
export function hasOpenChange(log: TableLog, replica: number, before: number): boolean {
  return log.entries
    .slice(firstOpen(log, replica), before)
    .some((entry) => entry.kind === 'change' && !isDoneAt(entry, replica));
}

/**
 * Does the entry at the replica, exactly once, even if its engine is killed meanwhile. Throws the
 * error of the engine, and `NoAnswer` if the entry was not done.
 */
export async function apply(
  cluster: Cluster,
  replica: Replica,
  log: TableLog,
  entry: Entry,
): Promise<void> {
  await replica
    .line(log.name)(async () => {
      if (isDoneAt(entry, replica.index)) return;
      if (entry.kind === 'rows') await storeRows(replica, log, entry);
      else await applyChange(replica, log, entry);
      entry.holders.add(replica.index);
    })
    .finally(() => cluster.changes.tell());
}

/** Does a change of rows or columns at the replica. */
export async function applyChange(replica: Replica, log: TableLog, entry: Entry): Promise<void> {
  replica.rows.delete(log.name);
  try {
    await replica.ask({
      text: entry.text,
      settings: [...entry.settings, ['mutations_sync', '1'], ['alter_sync', '1']],
    });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // The source does entries in order, so an entry that was not sent elsewhere was done before a
    // kill.
    if (entry.source === replica.index && entry.state !== 'agreed') throw error;
  }
}

async function storeRows(replica: Replica, log: TableLog, entry: Entry): Promise<void> {
  const before = replica.rows.get(log.name) ?? (await countRows(replica, log.name));
  replica.rows.set(log.name, before);
  try {
    await replica.ask(entry);
  } catch (error) {
    if (error instanceof Failure) throw error;
    // The engine was killed, so it now only has what it has stored.
    const now = await countPatiently(replica, log.name);
    replica.rows.set(log.name, now);
    if (now === before) throw error;
    entry.rows = now - before;
    return;
  }
  if (entry.rows === 0) entry.rows = (await countPatiently(replica, log.name)) - before;
  replica.rows.set(log.name, before + entry.rows);
}

/** Returns the rows of an engine, by its parts. */
export async function countRows(replica: Replica, table: string): Promise<number> {
  return Number(await replica.ask({ text: `SELECT count() FROM ${table} FORMAT TabSeparated` }));
}

async function countPatiently(replica: Replica, table: string): Promise<number> {
  const deadline = performance.now() + engine_wait_ms_max;
  for (;;) {
    try {
      return await countRows(replica, table);
    } catch (error) {
      if (!(error instanceof NoAnswer) || performance.now() > deadline || replica.state === 'gone')
        throw error;
    }
    await pause(look_ms);
  }
}

/** Follows a definition at the replica, and records the result. */
export async function define(
  cluster: Cluster,
  replica: Replica,
  definition: Definition,
): Promise<void> {
  if (definition.outcomes.has(replica.index)) return;
  let outcome: Error | undefined;
  try {
    await replica.ask({
      text: withoutReplication(definition.text),
      settings: definition.settings,
    });
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    outcome = error as Error;
  }
  definition.outcomes.set(replica.index, outcome);
  if (outcome === undefined) noteTable(cluster, replica, definition);
  cluster.changes.tell();
}

/** Records which tables of the replica are replicated after a definition. */
export function noteTable(
  { keeper, settings }: Cluster,
  replica: Replica,
  { table, text, source }: Pick<Definition, 'table' | 'text' | 'source'>,
): void {
  const { is_replicated, path } = readEngine(text);
  const name = nameIn(settings, table);
  if (/^\s*(?:DROP|DETACH)\b/i.test(text)) {
    const dropped = replica.tables.get(name);
    replica.tables.delete(name);
    dropped?.members.delete(replica.index);
    if (dropped?.members.size === 0) keeper.tables.delete(dropped.path);
  }
  if (!is_replicated) return;
  const created_alone = settings.mode === 'on_cluster' && source === -1;
  const key = path ?? (created_alone ? `${name} of ${replica.name}` : name);
  const own = /\breplicated_deduplication_window\s*=\s*(\d+)/.exec(text)?.[1];
  const log = keeper.tables.get(key) ?? {
    path: key,
    name,
    entries: [],
    blocks: new Map(),
    members: new Set(),
    window: Number(own ?? settings.replicated_deduplication_window),
    done_to: [],
    is_copied_to: false,
  };
  keeper.tables.set(key, log);
  log.members.add(replica.index);
  replica.tables.set(name, log);
  if (firstOpen(log, replica.index) === 0 && log.entries.length > 0) replica.to_copy.add(log);
}

/**
 * Returns the log of a replicated table, and undefined for other tables. Throws if the replica,
 * which may be new, does not have the table yet.
 */
export function logAt(
  { keeper, settings }: Pick<Cluster, 'keeper' | 'settings'>,
  replica: Replica,
  table: string,
): TableLog | undefined {
  const name = nameIn(settings, table);
  const log = replica.tables.get(name);
  if (log === undefined && [...keeper.tables.values()].some((one) => one.name === name))
    throw new Failure(60, 'UNKNOWN_TABLE', `Table ${name} does not exist.`, 404);
  return log;
}

/** The name of a table with its database. */
export function nameIn({ database }: { database: string }, table: string): string {
  return table.includes('.') ? table : `${database}.${table}`;
}
