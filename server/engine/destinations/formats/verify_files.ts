import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { compareRows } from '../contents/compare_rows.ts';
import type {
  DeliveredSlices,
  Delivery,
  SliceOutcome,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { ContentSource, ValueRow } from '../../model/destination/content_source.ts';
import { keyColumns } from '../sql_tables/layout.ts';
import { whyChanged } from '../../model/destination/changed_receipt.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { FileBoundError } from './parquet/parquet_bounds.ts';
import { readFileRows } from './read_file.ts';
import { orUnreadable, readStoredText } from './file_store.ts';
import type { FileStore } from './file_store.ts';
import { accountedNames, findForeignFiles, receiptsOfSlice } from './foreign_files.ts';
import { counted } from '../../../platform/counted.ts';

const receipt_head_bytes = 4 * 1024;

/**
 * Compares the files of deliveries like `compareFiles`, then names foreign files in their folders
 * like `findForeignFiles`.
 */
export async function verifyFiles(
  store: FileStore,
  encoding: Encoding,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const names = delivered.flatMap(({ outcomes }) => outcomes.map(({ name }) => name));
  return [
    ...(await compareFiles(store, encoding, delivered, source)),
    ...(await findForeignFiles(store, accountedNames(names, names))),
  ];
}

/**
 * Reads every file that the receipts name and compares bytes, SHA-256 and the text of the receipt.
 * For a differing file, it names the differing values if the source still has its rows. Memory does
 * not grow with the files.
 */
export async function compareFiles(
  store: FileStore,
  encoding: Encoding,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { delivery, outcomes, manifest } of delivered) {
    const found: Difference[] = [];
    for (const outcome of outcomes)
      found.push(
        ...(await orUnreadable(outcome.name, async () => {
          const difference = await compareSlice(store, outcome);
          if (difference?.kind !== 'changed') return difference === undefined ? [] : [difference];
          return withValues({ store, encoding, source }, delivery, outcome, difference);
        })),
      );
    const receipts = receiptsOfSlice(outcomes[0]?.name ?? '');
    if (receipts !== undefined && store.has_receipts !== false)
      found.push(
        ...(await orUnreadable(receipts[0], () => compareReceipt(store, receipts, manifest))).map(
          (difference) => ({ ...difference, about: 'receipt' as const }),
        ),
      );
    const { delivery_id } = delivery;
    differences.push(...found.map((difference) => ({ ...difference, delivery_id })));
  }
  return differences;
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

/** Returns the difference of a file, with its differing values if known. */
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
    if (values.length === 0) return because('Its values match the delivered ones.');
    return [difference, ...values.map((value) => ({ ...value, kind: difference.kind }))];
  } catch (error) {
    if (error instanceof FileBoundError) return because(error.message);
    // A fault of the source does not concern this file.
    if (!(error instanceof SyntaxError || isDamage(error))) throw error;
    return because(`It can no longer be read as ${encoding.format}.`);
  }
}

/** Faults in the file's content: the readers' own are plain errors, those of zlib have codes. */
function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (
    (error.name === 'Error' && code === undefined) ||
    error instanceof RangeError ||
    (typeof code === 'string' && /^(Z_|ERR_|ZSTD_)/.test(code))
  );
}

/** Compares the receipt under the first of its existing names. */
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

/**
 * Returns the delivery that a receipt names, or undefined if the content is no receipt. Only reads
 * the beginning, where the receipt has its id, so that a receipt may have any size; closes the
 * stream.
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
