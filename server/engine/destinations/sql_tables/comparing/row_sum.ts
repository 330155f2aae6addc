import type { Delivery } from '../../../model/destination/destination.ts';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import { canonicalValue } from '../../contents/canonical.ts';
import type { RowDigest } from '../../contents/digest.ts';
import { finish, hashSpan, hashText, hashWord, wordsOf } from '../../contents/hash_bytes.ts';
import type { Words } from '../../contents/hash_bytes.ts';
import { hashJson } from '../../contents/json_hash.ts';
import { fieldText } from '../tab_separated.ts';

type Column = Delivery['columns'][number];
type ColumnType = Column['type'];

/** A digest that also accepts rows as the bytes in which they pass. */
type RowSum = RowDigest & {
  /** Adds the rows of a piece of tab-separated text, the next one of the text. */
  take(chunk: Buffer): void;
};

const [tab, line_end, backslash] = [0x09, 0x0a, 0x5c];
const [null_tag, value_tag] = [0x6e756c, 0x76616c];
const lanes_count = 4;

/** The text of a value before it is hashed; it grows to the longest. */
let scratch = Buffer.alloc(64 * 1024);
let scratch_words = wordsOf(scratch);

/**
 * Opens a sum over rows in any order, of a hash of 64 bits of each. Values with the same
 * `canonicalValue` have the same hash. Most are already in that form, so neither an object nor a
 * text is created for them. `has_names`: the first line of the text has the column names.
 */
export function openRowSum(
  columns: Pick<Column, 'type'>[],
  { has_names = false }: { has_names?: boolean } = {},
): RowSum {
  const types = columns.map(({ type }) => type);
  const sums = new Int32Array(lanes_count);
  const row = new Int32Array(2);
  const lanes = new Int32Array(2);
  let records = 0;
  let rest = Buffer.alloc(0);
  let isName = has_names;
  const endRow = () => {
    const [one, other] = [row[0]!, row[1]!];
    sums[0]! += finish(one, other);
    sums[1]! += finish(other, one ^ 1);
    sums[2]! += finish(one + 2, ~other);
    sums[3]! += finish(~other, one + 3);
    row[0] = row[1] = 0;
    records += 1;
  };
  const takeLines = (bytes: Buffer, from: number) => {
    const words = wordsOf(bytes);
    for (let at = from; at < bytes.length;) {
      if (isName) {
        isName = false;
        at = bytes.indexOf(line_end, at) + 1;
        continue;
      }
      for (const type of types) at = addField(row, lanes, type, words, at) + 1;
      if (bytes[at - 1] !== line_end)
        throw new Error('A row of the source has another number of columns than the export.');
      endRow();
    }
  };
  return {
    take: (chunk) => {
      const end = chunk.lastIndexOf(line_end) + 1;
      const begun = rest.length > 0 ? chunk.indexOf(line_end) + 1 : 0;
      if (begun > 0) takeLines(Buffer.concat([rest, chunk.subarray(0, begun)]), 0);
      if (end > 0) {
        takeLines(chunk.subarray(0, end), begun);
        rest = Buffer.alloc(0);
      }
      // A copy: the block of the chunk is reused when it has passed.
      if (end < chunk.length) rest = Buffer.concat([rest, chunk.subarray(end)]);
    },
    add: (values: ValueRow) => {
      for (const [index, type] of types.entries()) addText(row, lanes, type, values[index] ?? null);
      endRow();
    },
    records: () => records,
    value: () => hexOf(sums),
  };
}

/** Returns the sum without some of its rows. */
export function sumWithoutRows(
  sum: string,
  columns: Pick<Column, 'type'>[],
  rows: ValueRow[],
): string {
  const less = openRowSum(columns);
  for (const row of rows) less.add(row);
  const [all, some] = [sum, less.value()].map((text) => Buffer.from(text, 'hex'));
  return hexOf(
    Int32Array.from({ length: lanes_count }, (_, lane) => {
      return all!.readInt32BE(4 * lane) - some!.readInt32BE(4 * lane);
    }),
  );
}

function hexOf(sums: Int32Array): string {
  return [...sums].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('');
}

/** Adds the field at `at` to its row, and returns the position of the following tab or line end. */
function addField(
  row: Int32Array,
  lanes: Int32Array,
  type: ColumnType,
  words: Words,
  at: number,
): number {
  const { bytes } = words;
  lanes[0] = lanes[1] = value_tag;
  let end = at;
  if (type === 'json') end = hashJson(lanes, words, at, 'field');
  else {
    end = hashText(lanes, words, at, false);
    if (type === 'timestamp' && end === at + 26 && bytes[at + 10] === 0x20)
      hashBareInstant(lanes, bytes, at);
    else if (end !== -1 && !isCanonical(type, bytes, at, end)) end = -1;
  }
  if (end !== -1 && isEnd(bytes[end])) {
    addValue(row, lanes);
    return end;
  }
  if (bytes[at] === backslash && bytes[at + 1] === 0x4e && isEnd(bytes[at + 2])) {
    hashWord(row, null_tag);
    return at + 2;
  }
  end = at;
  while (!isEnd(bytes[end])) end += 1;
  addText(row, lanes, type, fieldText(bytes.toString('utf8', at, end)));
  return end;
}

/** Hashes an instant without T and Z as if it had them. */
function hashBareInstant(lanes: Int32Array, bytes: Buffer, at: number): void {
  bytes.copy(scratch, 0, at, at + 26);
  scratch[10] = 0x54;
  scratch[26] = 0x5a;
  lanes[0] = lanes[1] = value_tag;
  hashSpan(lanes, scratch_words, 0, 27);
}

function isEnd(byte: number | undefined): boolean {
  // Beyond the bytes, nothing follows.
  return byte === tab || byte === line_end || byte === undefined;
}

function addValue(row: Int32Array, lanes: Int32Array): void {
  hashWord(row, lanes[0]!);
  hashWord(row, lanes[1]!);
}

function addText(row: Int32Array, lanes: Int32Array, type: ColumnType, text: string | null): void {
  lanes[0] = lanes[1] = value_tag;
  if (type === 'json' && text !== null) {
    const end = written(text);
    if (hashJson(lanes, scratch_words, 0, 'plain') === end) {
      addValue(row, lanes);
      return;
    }
  }
  const value = canonicalValue(type, text);
  if (value === null) {
    hashWord(row, null_tag);
    return;
  }
  lanes[0] = lanes[1] = value_tag;
  const end = written(value);
  if (type !== 'json' || hashJson(lanes, scratch_words, 0, 'canonical') !== end) {
    lanes[0] = lanes[1] = value_tag;
    hashSpan(lanes, scratch_words, 0, end);
  }
  addValue(row, lanes);
}

/** Writes the text into `scratch`, followed by a line end, and returns its length. */
function written(text: string): number {
  const bytes_max = 3 * text.length + 1;
  if (bytes_max > scratch.length) {
    scratch = Buffer.alloc(2 * bytes_max);
    scratch_words = wordsOf(scratch);
  }
  const end = scratch.write(text, 0, 'utf8');
  scratch[end] = line_end;
  return end;
}

/** Returns true if the field is already in the form of `canonicalValue`. True for almost all. */
function isCanonical(type: ColumnType, bytes: Buffer, at: number, end: number): boolean {
  const first = bytes[at];
  const length = end - at;
  switch (type) {
    case 'text':
      return true;
    case 'timestamp':
      return length === 27 && bytes[at + 10] === 0x54 && bytes[end - 1] === 0x5a;
    case 'date':
      return length === 10;
    case 'uuid':
      return length === 36 && isLowerCase(bytes, at, end);
    case 'boolean':
      return length >= 4 && (first === 0x74 || first === 0x66);
    case 'integer': {
      const digit = first === 0x2d ? bytes[at + 1] : first;
      return digit !== undefined && (digit > 0x30 || length === 1) && digit <= 0x39;
    }
    case 'json':
    case 'decimal':
    case 'float':
      return false;
  }
}

function isLowerCase(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (bytes[at]! >= 0x41 && bytes[at]! <= 0x5a) return false;
  return true;
}
