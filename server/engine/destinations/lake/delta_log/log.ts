import { parseJson } from '../../../../platform/json/parse_json.ts';
import { NonRetryableError } from '../../../model/destination/errors.ts';
import { readStoredText } from '../../formats/file_store.ts';
import { lastPart } from '../../formats/naming.ts';
import type { SmallFiles } from '../place.ts';
import { apply, emptyState, entryText, parseEntry } from './actions.ts';
import type { Action, State } from './actions.ts';
import { readCheckpoint } from './checkpoint.ts';

/** The log of a table: its folder in the place of its files. */
export type Log = { files: SmallFiles; folder: string };

/** The names in a log, by version; a checkpoint may have several parts. */
export type LogNames = {
  entries: Map<number, string>;
  checkpoints: Map<number, string[]>;
  /** All names with a version, including unknown kinds of files of other writers. */
  versioned: { version: number; name: string }[];
};

/** Entries that are read at once. */
const read_together = 16;

/** Returns the name of a version's file with this extension. */
export function nameOf({ folder }: Pick<Log, 'folder'>, version: number, ending: string): string {
  return `${folder}/${String(version).padStart(20, '0')}${ending}`;
}

/** Returns the name of the file that names the last checkpoint. */
export function lastCheckpointName({ folder }: Pick<Log, 'folder'>): string {
  return `${folder}/_last_checkpoint`;
}

/** Lists the log; with `from`, the versions since then, and possibly others. */
export async function listLog({ files, folder }: Log, from?: number): Promise<LogNames> {
  const found: LogNames = { entries: new Map(), checkpoints: new Map(), versioned: [] };
  const parts = new Map<number, { name: string; of: number }[]>();
  const after = from === undefined ? undefined : nameOf({ folder }, from, '');
  for await (const name of files.list(folder, after)) {
    const [, digits, ending = ''] = /^(\d{20})\.(.+)$/.exec(lastPart(name)) ?? [];
    if (digits === undefined) continue;
    const version = Number(digits);
    found.versioned.push({ version, name });
    if (ending === 'json') found.entries.set(version, name);
    const part = /^checkpoint\.(?:\d{10}\.(\d{10})\.)?parquet$/.exec(ending);
    if (part === null) continue;
    const of = Number(part[1] ?? 1);
    parts.set(version, [...(parts.get(version) ?? []), { name, of }]);
  }
  for (const [version, names] of parts)
    for (const of of new Set(names.map((one) => one.of))) {
      const whole = names.filter((one) => one.of === of).map(({ name }) => name);
      if (whole.length === of) found.checkpoints.set(version, whole.toSorted());
    }
  return found;
}

/** Reads the current table from its log. */
export async function loadTable(log: Log): Promise<State> {
  const hint = await hintedVersion(log);
  const listed = await listLog(log, hint);
  // If the hint is wrong, the whole log is listed.
  const names = hint === undefined || listed.checkpoints.size > 0 ? listed : await listLog(log);
  const checkpoint = Math.max(-1, ...names.checkpoints.keys());
  const state =
    checkpoint === -1
      ? emptyState()
      : await readCheckpoint(checkpoint, await contents(log, names.checkpoints.get(checkpoint)!));
  state.version = checkpoint;
  const versions = [...names.entries.keys()].filter((one) => one > checkpoint).toSorted(ascending);
  for (let from = 0; from < versions.length; from += read_together) {
    const some = versions.slice(from, from + read_together);
    const entries = await Promise.all(some.map((version) => readEntry(log, version)));
    for (const [index, version] of some.entries()) {
      const entry = entries[index];
      if (entry === undefined || version !== state.version + 1) throw gap(log, state.version + 1);
      apply(state, version, entry);
    }
  }
  return state;
}

/**
 * Updates a state only by later entries, so that none is skipped because a checkpoint contains it
 * too.
 */
export async function refresh(log: Log, state: State): Promise<void> {
  for (;;) {
    const entry = await readEntry(log, state.version + 1);
    if (entry === undefined) return;
    apply(state, state.version + 1, entry);
  }
}

/**
 * Writes the next entry of the log, and applies it to the state. False if another writer, or an
 * earlier try of this one, has written that version: `refresh` then shows which.
 */
export async function addEntry(log: Log, state: State, actions: Action[]): Promise<boolean> {
  const version = state.version + 1;
  if (!(await log.files.putNew(nameOf(log, version, '.json'), entryText(actions)))) return false;
  apply(state, version, actions);
  return true;
}

/** Reads an entry; undefined if this version does not exist. */
export async function readEntry(log: Log, version: number): Promise<Action[] | undefined> {
  const text = await readStoredText(log.files, nameOf(log, version, '.json'));
  return text === undefined ? undefined : parseEntry(text);
}

async function hintedVersion(log: Log): Promise<number | undefined> {
  const text = await readStoredText(log.files, lastCheckpointName(log));
  const hint = parseJson(text ?? '') as { version?: unknown } | null | undefined;
  return Number.isSafeInteger(hint?.version) ? (hint!.version as number) : undefined;
}

async function contents({ files }: Log, names: string[]): Promise<AsyncIterable<Buffer>[]> {
  const found: AsyncIterable<Buffer>[] = [];
  for (const name of names) {
    const content = await files.read(name);
    if (content === undefined) throw new Error(`The file ${name} was removed meanwhile.`);
    found.push(content);
  }
  return found;
}

function gap({ folder }: Log, version: number): NonRetryableError {
  return new NonRetryableError(
    'table_unsuitable',
    `The log of the table in ${folder} lacks the entry of version ${version}. Restore it, or ` +
      'export to another table.',
  );
}

function ascending(one: number, other: number): number {
  return one - other;
}
