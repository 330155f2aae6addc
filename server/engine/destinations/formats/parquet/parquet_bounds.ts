import type { FileMetaData } from 'hyparquet';
import { counted } from '../../../../platform/counted.ts';

/**
 * Thrown for a file that needs more than any file of an export, and is therefore not read. The
 * message is a sentence for the person who verifies.
 */
export class FileBoundError extends Error {
  override readonly name = 'FileBoundError';
}

/** Returns the error for a file with this fault. */
export function beyondBound(said: string): FileBoundError {
  return new FileBoundError(`${said}, as no file of an export does: its values are not compared.`);
}

/** Limits of `selectParquet`'s output; for pages and groups far above anything it ever wrote. */
const rows_max = 50_000;
const page_mb_max = 256;
/** Values of a list or a map in one row group. */
export const nested_values_max = 10_000_000;
const group_mb_max = 1_024;
/** Limit of the footer, which has some 200 bytes for each column of each group. */
const footer_mb_max = 64;
const mb = 1_048_576;

/** PLAIN, PLAIN_DICTIONARY, RLE and RLE_DICTIONARY. */
const encodings = new Set([0, 2, 3, 8]);
const [data_page, dictionary_page] = [0, 2];

/** Throws a FileBoundError for a footer of this length. */
export function boundFooter(bytes: number): void {
  if (bytes > footer_mb_max * mb) throw beyondBound(`Its footer says that it has ${bytes} bytes`);
}

/** Throws a FileBoundError for a row group that claims more than those of exports can have. */
export function boundGroup({ num_rows, columns }: FileMetaData['row_groups'][number]): void {
  if (!(num_rows >= 0 && num_rows <= rows_max))
    throw beyondBound(`One of its row groups claims ${counted(Number(num_rows), 'row')}`);
  const bytes = columns.reduce(
    (sum, { meta_data }) => sum + Number(meta_data?.total_compressed_size ?? 0),
    0,
  );
  if (!(bytes >= 0 && bytes <= group_mb_max * mb))
    throw beyondBound(`One of its row groups claims ${bytes} bytes`);
}

/**
 * Reads the headers of the pages of a column in one row group. It throws a FileBoundError if they
 * claim more memory than this many values can need, because a reader of pages trusts them.
 */
export function boundPages(chunk: Uint8Array, values_max: number): void {
  const cursor: Cursor = {
    view: new DataView(chunk.buffer, chunk.byteOffset, chunk.length),
    at: 0,
  };
  let values = 0;
  while (cursor.at < chunk.length - 1) {
    const page = readStruct(cursor);
    const [type, size, packed] = [whole(page, 1), whole(page, 2), whole(page, 3)];
    if (size > page_mb_max * mb) throw beyondBound(`One of its pages claims ${size} bytes`);
    const of_page = page.get(type === data_page ? 5 : 7);
    if ((type !== data_page && type !== dictionary_page) || !(of_page instanceof Map))
      throw beyondBound(`One of its pages has the kind ${type}`);
    if (!encodings.has(whole(of_page, 2)))
      throw beyondBound(`One of its pages has the encoding ${whole(of_page, 2)}`);
    const count = whole(of_page, 1);
    if (type === data_page) values += count;
    if (Math.max(values, count) > values_max)
      throw beyondBound(`A column with room for ${counted(values_max, 'value')} has more`);
    cursor.at += packed;
  }
}

/** Integers and structs by the numbers of their fields; everything else is skipped. */
type Struct = Map<number, number | Struct>;
type Cursor = { view: DataView; at: number };

function whole(struct: Struct, field: number): number {
  const value = struct.get(field);
  if (typeof value !== 'number' || value < 0) throw damaged();
  return value;
}

/** Reads a struct of Thrift's compact protocol, as headers of pages are: without lists. */
function readStruct(cursor: Cursor, depth = 0): Struct {
  if (depth > 4) throw damaged();
  const struct: Struct = new Map();
  let field = 0;
  for (;;) {
    const byte = cursor.view.getUint8(cursor.at++);
    const [type, step] = [byte & 15, byte >> 4];
    if (type === 0) return struct;
    field = step === 0 ? readWhole(cursor) : field + step;
    if (type === 12) struct.set(field, readStruct(cursor, depth + 1));
    else if (type >= 4 && type <= 6) struct.set(field, readWhole(cursor));
    else if (type === 8) skipText(cursor);
    else if (type === 3) cursor.at += 1;
    else if (type === 7) cursor.at += 8;
    else if (type > 2) throw damaged();
  }
}

function skipText(cursor: Cursor): void {
  const length = readLength(cursor);
  cursor.at += length;
}

function readWhole(cursor: Cursor): number {
  const length = readLength(cursor);
  return length % 2 === 0 ? length / 2 : -(length + 1) / 2;
}

function readLength(cursor: Cursor): number {
  let value = 0;
  for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
    const byte = cursor.view.getUint8(cursor.at++);
    value += (byte & 127) * factor;
    if (byte < 128) return value;
  }
  throw damaged();
}

function damaged(): Error {
  return new Error('A header of a page is damaged.');
}
