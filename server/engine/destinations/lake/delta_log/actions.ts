import { parseExactJson, writeExactJson } from '../../../../platform/json/exact_json.ts';

/** A data file that readers see; `path` is URL-encoded, and relative to the table's folder. */
export type Add = {
  path: string;
  partitionValues: Record<string, string | null>;
  size: number;
  modificationTime: number;
  dataChange: boolean;
  stats?: string;
  tags?: Record<string, string>;
};

/** A data file that readers no longer see. */
export type Remove = {
  path: string;
  deletionTimestamp?: number;
  dataChange: boolean;
  extendedFileMetadata?: boolean;
  partitionValues?: Record<string, string | null>;
  size?: number;
};

/** The progress of an application; other writers may have numbers beyond 2^53. */
export type Txn = { appId: string; version: number | bigint; lastUpdated?: number };

/** The versions of the protocol that a reader and a writer must support. */
export type Protocol = {
  minReaderVersion: number;
  minWriterVersion: number;
  readerFeatures?: string[];
  writerFeatures?: string[];
};

/** The table's schema and properties. */
export type TableInfo = {
  id: string;
  name?: string;
  description?: string;
  format: { provider: string; options: Record<string, string> };
  schemaString: string;
  partitionColumns: string[];
  createdTime?: number;
  configuration: Record<string, string>;
};

/** The facts of a commit; every writer may add keys. */
export type CommitInfo = { timestamp?: number; operation?: string } & Record<string, unknown>;

/** One line of a log entry. Lines of other kinds have none of these keys. */
export type Action = {
  add?: Add;
  remove?: Remove;
  txn?: Txn;
  protocol?: Protocol;
  metaData?: TableInfo;
  commitInfo?: CommitInfo;
};

/** A table after an entry of its log; version -1 is a table that does not exist. */
export type State = {
  version: number;
  protocol?: Protocol;
  metaData?: TableInfo;
  txns: Map<string, Txn>;
  adds: Map<string, Add>;
  removes: Map<string, Remove>;
  /** The versions of the entries that keep older attempts from showing a delivery. */
  fences: Map<string, number>;
};

/** The key of a commit's facts that names a delivery that older attempts may no longer show. */
export const fence_key = 'sluice.fenced-delivery-id';

/** Returns the state of a table without entries. */
export function emptyState(): State {
  return {
    version: -1,
    txns: new Map(),
    adds: new Map(),
    removes: new Map(),
    fences: new Map(),
  };
}

/** Applies the actions of an entry to the state, which then has that version. */
export function apply(state: State, version: number, actions: readonly Action[]): void {
  for (const { add, remove, txn, protocol, metaData, commitInfo } of actions) {
    if (add !== undefined) {
      state.adds.set(add.path, add);
      state.removes.delete(add.path);
    }
    if (remove !== undefined) {
      state.adds.delete(remove.path);
      state.removes.set(remove.path, remove);
    }
    if (txn !== undefined) state.txns.set(txn.appId, txn);
    if (protocol !== undefined) state.protocol = protocol;
    if (metaData !== undefined) state.metaData = metaData;
    const fenced = commitInfo?.[fence_key];
    if (typeof fenced === 'string') state.fences.set(fenced, version);
  }
  state.version = version;
}

/** Parses an entry of the log. Throws a SyntaxError if a line is no JSON. */
export function parseEntry(text: string): Action[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => parseExactJson(line) as Action);
}

/** Returns the text of an entry: one action per line. */
export function entryText(actions: readonly Action[]): string {
  return actions.map((action) => `${writeExactJson(action)}\n`).join('');
}

/** Returns the name of a file as a path of the log. */
export function encodedPath(name: string): string {
  // Other writers leave the equals sign unescaped, because readers use it to find a partition.
  return name.split('/').map(encodeURIComponent).join('/').replaceAll('%3D', '=');
}

/** Returns the file name for a path of the log. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // Another writer has left a percent sign unescaped.
    return path;
  }
}
