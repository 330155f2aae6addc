import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { compareRows } from '../contents/compare_rows.ts';
import type {
  DeliveredSlices,
  Delivery,
  Difference,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import type { ContentSource, ValueRow } from '../../model/destination/content_source.ts';
import { KnownError } from '../../model/destination/errors.ts';
import { keyColumns } from '../sql_tables/layout.ts';
import { whyChanged } from '../../model/destination/changed_receipt.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { FileBoundError } from './parquet_bounds.ts';
import { readFileRows } from './read_file.ts';
import { folderPart, parseDeliveryName, receiptsOfStem } from './naming.ts';
import { readBounded } from '../../../platform/read_bounded.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * The operations of a place with files or objects that a comparison needs; names have `/` between
 * folders.
 */
export type FileStore = {
  /** The content, or undefined when there is nothing of this name. Other faults are thrown. */
  read(name: string): Promise<Readable | undefined>;
  /**
   * Names of the visible files directly in a folder, complete names, in any order. A missing folder
   * is empty.
   */
  list(folder: string): AsyncIterable<string>;
};

const receipt_bytes_max = 64 * 1024 * 1024;
const receipt_head_bytes = 4 * 1024;

/**
 * Reads every file that the receipts name and compares bytes, SHA-256 and the text of the receipt;
 * of a file that differs, the values that do are named where the source still has its rows. Then
 * names files that nobody accounts for in the folders of these deliveries. Files that the receipt
 * of another export names are left out. Memory does not grow with the files.
 */
export async function verifyFiles(
  store: FileStore,
  encoding: Encoding,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const expected = new Set<string>();
  for (const { delivery, outcomes, manifest } of delivered) {
    for (const outcome of outcomes) {
      expected.add(outcome.name);
      differences.push(
        ...(await compare(outcome.name, async () => {
          const found = await compareSlice(store, outcome);
          if (found?.kind !== 'changed') return found === undefined ? [] : [found];
          return withValues({ store, encoding, source }, delivery, outcome, found);
        })),
      );
    }
    const [first] = outcomes;
    if (first === undefined) continue;
    const stem = parseDeliveryName(first.name)?.stem;
    if (stem === undefined) continue;
    const names = receiptsOfStem(stem);
    for (const name of names) expected.add(name);
    differences.push(...(await compare(names[0], () => compareReceipt(store, names, manifest))));
  }
  const folders = new Set([...expected].map(folderPart));
  for (const folder of folders)
    differences.push(...(await compare(folder, () => findAdded(store, folder, expected))));
  return differences;
}

// All other known faults are of the place as a whole.
const faults_of_one = new Set(['permission_denied', 'request_refused', 'store_fault']);

/**
 * A fault while reading is a difference of its own and does not end the comparison, but for one
 * with which nothing can be read, such as a store that is away: that is thrown.
 */
async function compare(name: string, work: () => Promise<Difference[]>): Promise<Difference[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof KnownError && !faults_of_one.has(error.code)) throw error;
    return [
      {
        kind: 'unreadable',
        name,
        detail: error instanceof Error ? error.message : 'It cannot be read.',
      },
    ];
  }
}

async function compareSlice(
  store: FileStore,
  outcome: SliceOutcome,
): Promise<Difference | undefined> {
  const { name } = outcome;
  const content = await store.read(name);
  if (content === undefined)
    return {
      kind: 'missing',
      name,
      detail: `It had ${counted(outcome.records, 'row')} in ${counted(outcome.bytes, 'byte')}.`,
    };
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  if (bytes !== outcome.bytes)
    return {
      kind: 'changed',
      name,
      detail: `It has ${bytes} bytes, the receipt says ${outcome.bytes}.`,
    };
  return hash.digest('hex') === outcome.sha256
    ? undefined
    : { kind: 'changed', name, detail: 'Its SHA-256 differs from the receipt.' };
}

type Reader = { store: FileStore; encoding: Encoding; source: ContentSource };

/** The difference of a file, and those of its values as far as they can be told. */
async function withValues(
  { store, encoding, source }: Reader,
  delivery: Delivery,
  { name, number, records }: SliceOutcome,
  difference: Difference,
): Promise<Difference[]> {
  const { delivery_id, columns } = delivery;
  const because = (sentence: string): Difference[] => [
    { ...difference, detail: `${difference.detail} ${sentence}` },
  ];
  if (!(await source.isWhole(delivery_id)))
    return because('The source no longer has its rows, so the differing values are unknown.');
  const found = async function* (): AsyncGenerator<ValueRow> {
    const content = await store.read(name);
    if (content !== undefined) yield* readFileRows(content, encoding, columns);
  };
  const expected = () => source.rows(delivery_id, number);
  const key = keyColumns(delivery);
  try {
    const values = await compareRows({
      name,
      columns,
      key,
      is_shared: false,
      records,
      expected,
      found,
      onRow: () => source.onRow(),
    });
    if (values.length === 0) return because('Its values are those that were delivered.');
    return [difference, ...values.map((value) => ({ ...value, kind: difference.kind }))];
  } catch (error) {
    if (error instanceof FileBoundError) return because(error.message);
    // A fault of the source does not concern this file.
    if (!(error instanceof SyntaxError || isDamage(error))) throw error;
    return because(`It can no longer be read as ${encoding.format}.`);
  }
}

/**
 * Faults of what the readers of files take apart: their own are plain errors, those of zlib have
 * codes.
 */
function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (
    (error.name === 'Error' && code === undefined) ||
    error instanceof RangeError ||
    (typeof code === 'string' && /^(Z_|ERR_|ZSTD_)/.test(code))
  );
}

/** Compares the receipt under the first of its names that is there. */
async function compareReceipt(
  store: FileStore,
  names: [string, string],
  text: string,
): Promise<Difference[]> {
  for (const name of names) {
    const found = await readStoredText(store, name);
    if (found === text) return [];
    if (found !== undefined) return [{ kind: 'changed', name, detail: whyChanged(found) }];
  }
  return [{ kind: 'missing', name: names[0], detail: 'The receipt is gone.' }];
}

async function findAdded(
  store: FileStore,
  folder: string,
  expected: Set<string>,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const accounted = new Map<string, Set<string>>();
  for await (const name of store.list(folder)) {
    if (expected.has(name) || (await isOfAnother(store, name, expected, accounted))) continue;
    differences.push({ kind: 'added', name, detail: 'No receipt names it.' });
  }
  return differences;
}

/** True for a file that the receipt of another export names, and for such a receipt. */
async function isOfAnother(
  store: FileStore,
  name: string,
  expected: Set<string>,
  accounted: Map<string, Set<string>>,
): Promise<boolean> {
  const stem = parseDeliveryName(name)?.stem;
  if (stem === undefined) return false;
  const receipts = receiptsOfStem(stem);
  if (expected.has(receipts[0])) return false;
  let names = accounted.get(stem);
  if (names === undefined) {
    names = new Set();
    for (const receipt of receipts) {
      const text = await readStoredText(store, receipt);
      if (text !== undefined) for (const one of [receipt, ...namesOf(text)]) names.add(one);
    }
    accounted.set(stem, names);
  }
  return names.has(name);
}

function namesOf(text: string): string[] {
  try {
    const { slices } = JSON.parse(text) as { slices?: { name?: unknown }[] };
    return (slices ?? []).flatMap((slice) => (typeof slice.name === 'string' ? [slice.name] : []));
  } catch {
    return [];
  }
}

/**
 * A small text of a store, such as a receipt, or undefined when there is none. Throws when it is
 * larger than 64 MiB.
 */
export async function readStoredText(
  store: Pick<FileStore, 'read'>,
  name: string,
): Promise<string | undefined> {
  const content = await store.read(name);
  if (content === undefined) return undefined;
  const bytes = await readBounded(
    content,
    receipt_bytes_max,
    () => new Error('It is too large to be a receipt.'),
  );
  return bytes.toString('utf8');
}

/**
 * The delivery that a receipt names, or undefined when the content is no receipt. Reads no more
 * than the beginning, where the receipt has its id, so that receipts of any size can be asked; the
 * stream is closed.
 */
export async function deliveryOfReceipt(content: Readable): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= receipt_head_bytes) break;
  }
  const head = Buffer.concat(chunks).subarray(0, receipt_head_bytes).toString('utf8');
  return /^\{"version":\d+,"delivery_id":"([0-9a-f-]{36})"/.exec(head)?.[1];
}
