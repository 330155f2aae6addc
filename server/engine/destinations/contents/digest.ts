import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Column } from '../../model/models/column.ts';
import { canonicalValue, printedJson } from './canonical.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';

/**
 * A sum over rows in any order; `digestExpression` lets the analytics store compute the same sum.
 */
export type RowDigest = {
  /** Adds a row with the values of the columns in any notation. */
  add(row: ValueRow): void;
  records(): number;
  /** Returns 32 hexadecimal digits. */
  value(): string;
};

const modulus_mask = (1n << 128n) - 1n;
const field_end = '\x1f';
const null_mark = '\x1e';
/** Replaces JSON with a number that the analytics store cannot read. */
export const unreadable_json = 'x';
/** Cuts in JSON text: its structure, and characters that writers may or may not escape. */
export const json_separators = '{}[]:,\\/';

/** Opens a digest of no rows. */
export function openRowDigest(columns: Pick<Column, 'type'>[]): RowDigest {
  let sum = 0n;
  let records = 0;
  return {
    add: (row) => {
      const text = columns
        .map(({ type }, index) => `${digestText(type, row[index] ?? null)}${field_end}`)
        .join('');
      const digest = hash('sha256', text, 'buffer');
      sum = (sum + digest.readBigUInt64LE(0) + (digest.readBigUInt64LE(8) << 64n)) & modulus_mask;
      records += 1;
    },
    records: () => records,
    value: () => digestHex(sum),
  };
}

/** Returns the sum without some of its rows. */
export function withoutRows(
  sum: string,
  columns: Pick<Column, 'type'>[],
  rows: ValueRow[],
): string {
  const digest = openRowDigest(columns);
  for (const row of rows) digest.add(row);
  return digestHex((BigInt(`0x${sum}`) - BigInt(`0x${digest.value()}`)) & modulus_mask);
}

/** Returns the sum as the receipt has it. */
export function digestHex(sum: bigint): string {
  return sum.toString(16).padStart(32, '0');
}

function digestText(type: Column['type'], given: string | null): string {
  const value = canonicalValue(type, given);
  if (value === null) return null_mark;
  if (type === 'float') return floatBits(value);
  return type === 'json' ? jsonDigest(given ?? '') : value;
}

function floatBits(text: string): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(Number(text));
  return bytes.readBigUInt64LE().toString();
}

/**
 * Returns a sum of its names and scalar values, wherever they are: so neither the order of keys nor
 * blanks matter, nor which value has which place.
 */
function jsonDigest(text: string): string {
  const printed = printedJson(text);
  if (printed === undefined) return unreadable_json;
  let sum = 0;
  for (const token of printed.replaceAll('\\u0000', '').split(/[{}[\]:,\\/"]/)) sum += crc32(token);
  return String(sum);
}
