import { createWriteStream } from 'node:fs';
import { appendFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../platform/clock.ts';
import { counted } from '../../platform/counted.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { openPlace } from '../backup/places/open_place.ts';
import type { Target as Server } from '../client/target.ts';
import { importFile } from '../import/import.ts';
import type { ImportOptions } from '../import/import.ts';
import { UserError } from '../user_error.ts';
import type { Days, FoundProject, MoveSource } from './inventory.ts';

/** A project here that gets the history. */
export type HistoryTarget = {
  server: Server;
  /** The id of the project here. */
  project: string;
  /** The key of the project in the configuration. */
  key: string;
  /** The folder of the move. */
  folder: string;
  /** The way to read and send each file. */
  options: Omit<ImportOptions, 'file' | 'project' | 'url' | 'key'>;
  tell(line: string): void;
};

const day_ms = 86_400_000;
/** Days in one file of events; a download of another Sluice has at most a month. */
const days_at_once = 7;
/** Exit code for a file with refused lines; signals have greater codes. */
const refused_lines_code = 1;
/** Characters of a copy's name; file systems allow 255, with what the import adds. */
const name_max = 150;
const file_names = /\.(?:json|jsonl|ndjson|parquet|gz)$/i;

/** Returns the day of an instant in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Divides days into ranges of at most so many. */
export function* rangesOf({ from, to }: Days, most = days_at_once): Generator<Days> {
  const end = Date.parse(to);
  for (let at = Date.parse(from); at < end; at += most * day_ms)
    yield { from: dayOf(at), to: dayOf(Math.min(at + most * day_ms, end)) };
}

/**
 * Imports the events of a range from the API of a source. Guarantee: a completed past range is not
 * requested again. An interrupted one is requested again, and adds no event twice.
 */
export async function bringFromApi(
  target: HistoryTarget,
  source: MoveSource,
  project: FoundProject,
  days: Days,
): Promise<number> {
  if (source.events === undefined)
    throw new UserError(`The API of ${source.title} has no events. Name its files: --history.`);
  const done = await openDone(target.folder);
  const files = join(target.folder, 'history', target.key);
  await mkdir(files, { recursive: true });
  let code = 0;
  for (const range of rangesOf(days)) {
    const name = `${target.key} ${range.from} ${range.to}`;
    if (done.has(name)) continue;
    const path = join(files, `${range.from}_${range.to}.jsonl`);
    await pipeline(Readable.from(source.events(project, range)), createWriteStream(`${path}.part`));
    await rename(`${path}.part`, path);
    const failed = await importOne(target, path, `${range.from} to ${range.to}`);
    code = Math.max(code, failed);
    if (Date.parse(range.to) <= systemClock.now()) await done.add(name);
    for (const left of [path, `${path}.sluice-import`]) await rm(left, { force: true });
  }
  return code;
}

/**
 * Imports all event files of a folder or bucket, in the order of their names. Guarantee: an
 * imported file is not read again; an interrupted one continues.
 */
export async function bringFiles(target: HistoryTarget, address: string): Promise<number> {
  const done = await openDone(target.folder);
  const files = (await filesOf(address)).filter(({ path }) => path !== done.path);
  target.tell(`${address} has ${counted(files.length, 'file')} of events.`);
  let code = 0;
  for (const { name, open } of files) {
    const known = `${target.key} ${address} ${name}`;
    if (done.has(known)) continue;
    const { path, close } = await open(target.folder);
    code = Math.max(code, await importOne(target, path, name));
    if (code > refused_lines_code) break;
    if (target.options.dry_run !== true) await done.add(known);
    await close();
  }
  return code;
}

/** A file of events: `open` gives a path on this machine. A file of a bucket has no other path. */
export type EventFile = {
  name: string;
  path?: string;
  open(folder: string): Promise<{ path: string; close(): Promise<void> }>;
};

/** Lists the event files of a folder or bucket, by name. Throws a UserError if there are none. */
export async function filesOf(address: string): Promise<EventFile[]> {
  const place = openPlace(address);
  const isBucket = address.startsWith('s3://');
  const names: string[] = [];
  for await (const name of place.list('')) if (file_names.test(name)) names.push(name);
  if (names.length === 0)
    throw new UserError(`${address} has no files with the ending .json, .jsonl, .gz or .parquet.`);
  return names.toSorted().map((name) => ({
    name,
    ...(isBucket ? {} : { path: join(place.name, name) }),
    open: async (folder) => {
      if (!isBucket) return { path: join(place.name, name), close: async () => undefined };
      const path = join(folder, 'history', name.replaceAll(/[^\w.-]+/g, '_').slice(-name_max));
      await mkdir(join(folder, 'history'), { recursive: true });
      const bytes = await place.read(name);
      if (bytes === undefined) throw new UserError(`${address} no longer has ${name}.`);
      await pipeline(bytes, createWriteStream(`${path}.part`));
      await rename(`${path}.part`, path);
      const remove = (one: string) => rm(one, { force: true });
      return {
        path,
        close: async () => void (await Promise.all([path, `${path}.sluice-import`].map(remove))),
      };
    },
  }));
}

async function importOne(
  { server, project, options, tell }: HistoryTarget,
  file: string,
  title: string,
): Promise<number> {
  const told = (line: string) => tell(`${title}: ${line}`);
  const { address: url, key } = server;
  return importFile(
    { ...options, file, project, url, key },
    { stdin: process.stdin, is_tty: false, say: told, complain: told, draw: () => undefined },
  );
}

/** Opens the list of imported names, one per line; ignores a line that a kill cut off. */
async function openDone(folder: string) {
  await mkdir(folder, { recursive: true });
  const path = resolve(folder, 'brought.jsonl');
  const text = await readFile(path, 'utf8').catch(() => '');
  const names = new Set(text.split('\n').map(parseJson));
  return {
    path,
    has: (name: string) => names.has(name),
    add: async (name: string) => {
      names.add(name);
      await appendFile(path, `\n${JSON.stringify(name)}\n`, { flush: true });
    },
  };
}
