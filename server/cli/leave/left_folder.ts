import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import {
  appendFile,
  mkdir,
  open,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ModelName } from '../../engine/model/models/model.ts';
import type { StoredSlice } from '../../engine/model/run.ts';
import { syncFolder } from '../../platform/folders/folders.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { UserError } from '../user_error.ts';

/** A complete file of the folder. */
export type LeftFile = {
  path: string;
  rows: number | null;
  bytes: number;
  sha256: string;
};

/** Fixed when a folder was started; the same command continues with it. */
export type LeftHead = {
  /** The public key of the server. */
  server: string;
  sluice: string;
  /** Rows ingested before this instant are in the files. */
  until: string;
  organizations: string[];
};

/**
 * The division of a model's rows into files, stored so that each file has the same rows after an
 * interruption.
 */
export type LeftCut = { project: number; model: ModelName; slices: StoredSlice[] };

type Note = { head: LeftHead } | { file: LeftFile } | { cut: LeftCut };

const notes_name = '.leaving.jsonl';
const manifest_name = 'manifest.json';

/** A folder in progress. */
export type LeftFolder = {
  head: LeftHead;
  files: ReadonlyMap<string, LeftFile>;
  cutOf(project: number, model: ModelName): LeftCut | undefined;
  keepCut(cut: LeftCut): Promise<void>;
  /**
   * Writes a file under a temporary name, and renames it when all of its bytes are on disk. Does
   * not open a complete file again.
   */
  write(path: string, rows: () => Promise<LeftContent>): Promise<LeftFile>;
  /** Writes the manifest, which marks the folder as complete. */
  finish(more: object): Promise<void>;
};

/** The content of a file; `rows` is called after all bytes were read. */
export type LeftContent = { bytes: Readable; rows(): number | null };

/**
 * Opens a folder to fill: a new or empty one with `begin`, or one that the same command on the same
 * server has started. Throws a UserError for any other.
 */
export async function openLeftFolder(
  folder: string,
  wanted: Pick<LeftHead, 'server' | 'organizations'>,
  begin: () => Promise<LeftHead>,
): Promise<LeftFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (await isFile(join(folder, manifest_name)))
    throw new UserError(`${folder} is already complete. Name another folder for a newer copy.`);
  const notes = join(folder, notes_name);
  const earlier = await readNotes(notes);
  if (earlier.head === undefined && (await readdir(folder)).length > 0)
    throw new UserError(`${folder} has other files. Name an empty folder, or a new one.`);
  const head = earlier.head ?? (await begin());
  if (head.server !== wanted.server || head.organizations.join() !== wanted.organizations.join())
    throw new UserError(`${folder} was started for other organizations. Name another folder.`);
  const note = async (one: Note) => appendFile(notes, `${JSON.stringify(one)}\n`, { flush: true });
  if (earlier.head === undefined) await note({ head });
  const files = new Map<string, LeftFile>();
  for (const file of earlier.files)
    if ((await sizeOf(join(folder, file.path))) === file.bytes) files.set(file.path, file);
  const cuts = [...earlier.cuts];
  return {
    head,
    files,
    cutOf: (project, model) => cuts.find((cut) => cut.project === project && cut.model === model),
    keepCut: async (cut) => {
      cuts.push(cut);
      await note({ cut });
    },
    write: async (path, rows) => {
      const present = files.get(path);
      if (present !== undefined) return present;
      const file = await writeWhole(folder, path, await rows());
      await note({ file });
      files.set(path, file);
      return file;
    },
    finish: async (more) => {
      const listed = [...files.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
      const text = JSON.stringify({ ...head, ...more, files: listed }, null, 2);
      await writeFile(join(folder, `${manifest_name}.part`), `${text}\n`, { flush: true });
      await rename(join(folder, `${manifest_name}.part`), join(folder, manifest_name));
      await syncFolder(folder);
      await rm(notes);
    },
  };
}

async function writeWhole(folder: string, path: string, content: LeftContent): Promise<LeftFile> {
  const whole = join(folder, path);
  await mkdir(dirname(whole), { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    content.bytes,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(`${whole}.part`, { mode: 0o600, flush: true }),
  );
  await rename(`${whole}.part`, whole);
  await syncFolder(dirname(whole));
  return { path, rows: content.rows(), bytes, sha256: hash.digest('hex') };
}

type Notes = { head: LeftHead | undefined; files: LeftFile[]; cuts: LeftCut[] };

/** Reads the notes; ignores a line that a kill cut off. */
async function readNotes(path: string): Promise<Notes> {
  const notes: Notes = { head: undefined, files: [], cuts: [] };
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const note = parseJson(line) as Note | undefined;
    if (note === undefined) continue;
    if ('head' in note) notes.head ??= note.head;
    else if ('file' in note) notes.files.push(note.file);
    else notes.cuts.push(note.cut);
  }
  return notes;
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}

async function isFile(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch(() => undefined);
  await handle?.close();
  return handle !== undefined;
}
