/**
 * An entry of a replicated table's log: rows that were inserted together, or a change of its rows
 * or columns. It enters the log before its source has done it, so that all replicas follow one
 * order where the order matters.
 */
export type Entry = {
  number: number;
  kind: 'rows' | 'change';
  /** The statement, and its settings. */
  text: string;
  settings: [string, string][];
  body: Buffer | undefined;
  rows: number;
  source: number;
  state: 'begun' | 'agreed' | 'void';
  /** Replicas that have done it. */
  holders: Set<number>;
  /** Time from which a replica may fetch it, on the scale of `performance.now()`. */
  due: number[];
  /** Its hash, until it is forgotten. */
  block_id: string | undefined;
  /** Replicas that must have it before the answer to its insert. */
  quorum: number;
  /** Why its source did not do it. */
  error: Error | undefined;
};

/** Keeper's record of a table. */
export type TableLog = {
  /** The path in Keeper, which tables of several replicas share. */
  path: string;
  name: string;
  entries: Entry[];
  /** Known blocks, oldest first; `undefined` has a hash and no rows. */
  blocks: Map<string, Entry | undefined>;
  members: Set<number>;
  window: number;
  /** By replica: all entries before this one are done there. */
  done_to: number[];
  /** True if something was sent to it in the format of a copy. */
  is_copied_to: boolean;
};

/** A definition that every replica must follow, and its result there. */
export type Definition = {
  table: string;
  text: string;
  settings: [string, string][];
  source: number;
  due: number[];
  /** By replica: done, or the error. */
  outcomes: Map<number, Error | undefined>;
};

/** The state that all replicas agree on. */
export type Keeper = {
  /** True while nobody can agree on anything. */
  is_away: boolean;
  tables: Map<string, TableLog>;
  definitions: Definition[];
};

/** Returns an empty one. */
export function openKeeper(): Keeper {
  return { is_away: false, tables: new Map(), definitions: [] };
}

/** Returns true if the replica has nothing more to do for it. */
export function isDoneAt(entry: Entry, replica: number): boolean {
  return entry.state === 'void' || entry.holders.has(replica);
}

/** The number of the first entry that is not done at the replica. */
export function firstOpen(log: TableLog, replica: number): number {
  let at = log.done_to[replica] ?? 0;
  while (at < log.entries.length && isDoneAt(log.entries[at]!, replica)) at += 1;
  log.done_to[replica] = at;
  return at;
}

/** Returns the entries that are agreed on and not done at the replica. */
export function openEntries(log: TableLog, replica: number): Entry[] {
  return log.entries
    .slice(firstOpen(log, replica))
    .filter((entry) => entry.state === 'agreed' && !entry.holders.has(replica));
}

/** Remembers a block, and forgets the oldest ones over the limit. */
export function rememberBlock(
  log: TableLog,
  id: string,
  entry: Entry | undefined,
  window = log.window,
): void {
  log.blocks.delete(id);
  log.blocks.set(id, entry);
  for (const oldest of log.blocks.keys()) {
    if (log.blocks.size <= window) return;
    log.blocks.delete(oldest);
  }
}

/**
 * Records that a replica is lost with all its data. Data that no other replica has is lost with it.
 * The hash of a block stays, unless a quorum had to have the block.
 */
export function forgetReplica(keeper: Keeper, replica: number): void {
  for (const log of keeper.tables.values()) {
    log.done_to[replica] = 0;
    for (const entry of log.entries) {
      entry.holders.delete(replica);
      if (entry.state !== 'agreed' || entry.holders.size > 0) continue;
      entry.state = 'void';
      if (entry.quorum > 1 && entry.block_id !== undefined) log.blocks.delete(entry.block_id);
    }
  }
  for (const { outcomes } of keeper.definitions) outcomes.delete(replica);
}

/** Appends an entry to the log, which no replica has done yet. */
export function beginEntry(
  log: TableLog,
  what: Pick<Entry, 'kind' | 'text' | 'settings' | 'source' | 'due'> & Partial<Entry>,
): Entry {
  const entry: Entry = {
    number: log.entries.length,
    body: undefined,
    rows: 0,
    state: 'begun',
    holders: new Set(),
    block_id: undefined,
    quorum: 0,
    error: undefined,
    ...what,
  };
  log.entries.push(entry);
  return entry;
}
