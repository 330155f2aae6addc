import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openContent, syncFolder } from '../../../platform/folders/folders.ts';
import { RetryableError, withCertainty } from '../../model/destination/errors.ts';
import type {
  Delivery,
  Manifest,
  Sink,
  Slice,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import { fileEncoding, hasFolders, mayHaveLeftovers } from '../formats/file_config.ts';
import type { FileConfig } from '../formats/file_config.ts';
import {
  folderPart,
  isOfStem,
  lastPart,
  receiptsOfStem,
  sliceName,
  stemOf,
} from '../formats/naming.ts';
import { deliveryOfReceipt } from '../formats/verify_files.ts';
import { isMissing, withFileErrors } from './faults.ts';
import { writeFileDurably } from './write_file.ts';
import {
  filesBelow,
  findInside,
  findSize,
  listNames,
  createFolder,
  moveInto,
  removeAll,
  replaceFile,
} from './folder.ts';

/** The place of one delivery: the folder below the export folder and the prefix of its names. */
type Place = {
  root: string;
  folder: string;
  stem: string;
  /** The names of its receipt below the export folder; the first one is written now. */
  receipts: [string, string];
  delivery: Delivery;
  config: FileConfig;
};

/**
 * Opens a delivery into the export folder. Slices wait under hidden names beside their final ones
 * until `commit` renames them.
 */
export function openFileSink(config: FileConfig, delivery: Delivery, exportDir: string): Sink {
  const stem = stemOf(config.prefix, delivery);
  const place: Place = {
    root: exportDir,
    folder: folderPart(stem),
    stem: basename(stem),
    receipts: receiptsOfStem(stem),
    delivery,
    config,
  };
  return {
    writes_abreast: true,
    isCommitted: () => withFileErrors(() => isCommitted(place)),
    recover: (outcomes) => withFileErrors(() => recover(place, outcomes)),
    write: (slice, bytes) => withFileErrors(() => write(place, slice, bytes)),
    commit: (outcomes, manifest) => commit(place, outcomes, manifest),
    abort: () => withFileErrors(() => abort(place)),
    close: async () => undefined,
  };
}

function temporaryOf(outcome: SliceOutcome): string {
  const { temporary } = outcome.state as { temporary: string };
  return basename(temporary);
}

async function isCommitted(place: Place): Promise<boolean> {
  for (const name of place.receipts) {
    const path = await findInside(place.root, name);
    if (path === undefined) continue;
    try {
      const found = await deliveryOfReceipt(await openContent(path));
      if (found === place.delivery.delivery_id) return true;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return false;
}

async function recover(place: Place, outcomes: SliceOutcome[]): Promise<SliceOutcome[]> {
  const folder = await findInside(place.root, place.folder);
  if (folder === undefined) return [];
  const surviving: SliceOutcome[] = [];
  for (const outcome of outcomes)
    if (await isWhole(place, folder, outcome)) surviving.push(outcome);
  const kept = new Set(surviving.map(temporaryOf));
  await removeAll(
    (await temporaries(place, folder))
      .filter((name) => !kept.has(name))
      .map((name) => join(folder, name)),
  );
  return surviving;
}

/**
 * A temporary file is ours alone, so its size is enough; a final one may belong to an earlier
 * delivery and must have the same bytes.
 */
async function isWhole(place: Place, folder: string, outcome: SliceOutcome): Promise<boolean> {
  if ((await findSize(join(folder, temporaryOf(outcome)))) === outcome.bytes) return true;
  const path = await findInside(place.root, outcome.name);
  if (path === undefined || (await findSize(path)) !== outcome.bytes) return false;
  const hash = createHash('sha256');
  await pipeline(await openContent(path), hash);
  return hash.digest('hex') === outcome.sha256;
}

async function temporaries(place: Place, folder: string): Promise<string[]> {
  return (await listNames(folder)).filter(
    (name) => name.startsWith(`.${place.stem}`) && name.endsWith('.tmp'),
  );
}

async function write(
  place: Place,
  slice: Slice,
  bytes: Readable,
): Promise<{ name: string; state: { temporary: string } }> {
  try {
    const folder = await createFolder(place.root, place.folder);
    const name = sliceName(place.config.prefix, place.delivery, slice, fileEncoding(place.config));
    const temporary = `.${basename(name)}.${place.delivery.attempt}.tmp`;
    const path = join(folder, temporary);
    try {
      await writeFileDurably(path, bytes);
    } catch (error) {
      await removeAll([path]);
      throw error;
    }
    return { name, state: { temporary } };
  } finally {
    bytes.destroy();
  }
}

/** A fault before the first rename shows nothing. */
async function commit(place: Place, outcomes: SliceOutcome[], manifest: Manifest): Promise<void> {
  let mayShow = place.delivery.erased !== undefined;
  const noteShown = () => void (mayShow = true);
  await withCertainty(
    () => withFileErrors(() => show(place, outcomes, manifest, noteShown)),
    () => mayShow,
  );
}

async function show(
  place: Place,
  outcomes: SliceOutcome[],
  manifest: Manifest,
  noteShown: () => void,
): Promise<void> {
  const folder = await createFolder(place.root, place.folder);
  if (outcomes.length === 0) noteShown();
  const folders = new Set([folder]);
  for (const outcome of outcomes) {
    const path = await placeOf(place, outcome.name, folders);
    const isMoved = await moveInto(join(folder, temporaryOf(outcome)), path);
    if (!isMoved && (await findSize(path)) !== outcome.bytes) {
      throw new RetryableError(
        'slice_lost',
        `The file ${outcome.name} was removed before it could be shown; Sluice writes it again.`,
      );
    }
    noteShown();
  }
  const [receipt] = place.receipts;
  const receipts = await createFolder(place.root, folderPart(receipt));
  // The folders' entries must survive a power failure too.
  for (const one of folders) await syncFolder(one);
  await replaceFile(join(receipts, basename(receipt)), manifest.text);
  const named = new Set(outcomes.map(({ name }) => nameBelow(place, name)));
  await removeAll(
    (await ownNames(place, folder, mayHaveLeftovers(place)))
      .filter((name) => !named.has(name))
      .map((name) => join(folder, name)),
  );
}

/**
 * Returns the path of a slice, creates its folders, and adds them and their parents to `folders`.
 */
async function placeOf(place: Place, name: string, folders: Set<string>): Promise<string> {
  const path = join(await createFolder(place.root, folderPart(name)), lastPart(name));
  const above = nameBelow(place, name).split('/').length - 1;
  for (let one = dirname(path), left = above; left > 0; one = dirname(one), left -= 1)
    folders.add(one);
  return path;
}

/** Returns a name without the folder of the delivery. */
function nameBelow({ folder }: Place, name: string): string {
  return folder === '' ? name : name.slice(folder.length + 1);
}

/** Lists all names of this delivery, hidden or not; on request also in the partition folders. */
async function ownNames(place: Place, folder: string, hasParts: boolean): Promise<string[]> {
  const names = (await listNames(folder)).filter(
    (name) => name.startsWith(place.stem) || name.startsWith(`.${place.stem}`),
  );
  if (!hasParts || !hasFolders(place.config)) return names;
  for await (const name of filesBelow(folder, '', { direct: false }))
    if (name.includes('/') && isOfStem(name, place.stem)) names.push(name);
  return names;
}

async function abort(place: Place): Promise<void> {
  const folder = await findInside(place.root, place.folder);
  if (folder === undefined) return;
  const names = (await isCommitted(place))
    ? await temporaries(place, folder)
    : await ownNames(place, folder, true);
  await removeAll(names.map((name) => join(folder, name)));
}
