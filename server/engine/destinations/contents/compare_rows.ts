import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Difference } from '../../model/destination/difference.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Column } from '../../model/models/column.ts';
import { canonicalValue } from './canonical.ts';
import { differencesOfKey } from './key_differences.ts';
import type { RowTexts } from './key_differences.ts';
import { openKeyFilter } from './key_filter.ts';
import { listDifferences } from './list_differences.ts';

/**
 * Two sets of rows that should be equal. Both are read once, and a second time if they differ;
 * their order does not matter.
 */
export type ComparedRows = {
  /** The table or file, by its name for users. */
  name: string;
  columns: Pick<Column, 'name' | 'type'>[];
  /** The columns that identify rows; without any, only all values together do. */
  key: readonly string[];
  /** True if rows of others are there too, which look like added ones. */
  is_shared: boolean;
  /** Approximate number of rows. */
  records: number;
  expected: () => AsyncIterable<ValueRow>;
  found: () => AsyncIterable<ValueRow>;
  /** Called for each row that is read. */
  onRow: () => void;
};

/**
 * Rows are summed by the hash of their key in this many buckets, which bounds the memory for any
 * number of rows.
 */
const places = 1 << 18;
/**
 * Most rows, and most characters of them, that are held of each side for a detailed comparison; at
 * least one row.
 */
const held_rows_max = 20_000;
const held_characters_max = 32 * 1024 * 1024;

/**
 * Compares expected rows with found rows: names up to 1,000 differences of a kind by key and
 * column, and counts the others. Memory does not grow with the rows.
 */
export async function compareRows(compared: ComparedRows): Promise<Difference[]> {
  const counts = new Int32Array(places);
  const lows = new Uint32Array(places);
  const highs = new Uint32Array(places);
  const filter = compared.is_shared ? openKeyFilter(compared.records) : undefined;
  const textsOf = reader(compared);
  for await (const row of compared.expected()) {
    compared.onRow();
    const texts = textsOf(row);
    filter?.add(texts.key);
    addTo(texts, 1);
  }
  for await (const row of compared.found()) {
    compared.onRow();
    const texts = textsOf(row);
    if (filter === undefined || filter.mayHave(texts.key)) addTo(texts, -1);
  }
  const differing = new Set<number>();
  for (let place = 0; place < places; place += 1)
    if (counts[place] !== 0 || lows[place] !== 0 || highs[place] !== 0) differing.add(place);
  return differing.size === 0 ? [] : tellApart(compared, differing);

  function addTo({ key, values }: RowTexts, sign: 1 | -1): void {
    const place = placeOf(key);
    const digest = hash('md5', rowText(values), 'buffer');
    counts[place] = counts[place]! + sign;
    lows[place] = lows[place]! + sign * digest.readUInt32LE(0);
    highs[place] = highs[place]! + sign * digest.readUInt32LE(4);
  }
}

/** Returns a row's values in their canonical form, and its identity. */
function reader({
  columns,
  key,
}: Pick<ComparedRows, 'columns' | 'key'>): (row: ValueRow) => RowTexts {
  const types = columns.map((column) => column.type);
  const places = key.map((name) => columns.findIndex((column) => column.name === name));
  return (row) => {
    const values = types.map((type, index) => canonicalValue(type, row[index] ?? null));
    const own = places.map((at) => values[at] ?? 'NULL');
    return { key: own.length === 0 ? rowText(values) : own.join(', '), values };
  };
}

function placeOf(key: string): number {
  return crc32(key) & (places - 1);
}

/** Returns a text that two rows share only if all their values are equal. */
export function rowText(values: ValueRow): string {
  let text = '';
  for (const value of values) text += value === null ? '-' : `${value.length}:${value}`;
  return text;
}

/**
 * Reads both sides again and compares the rows of the differing buckets, up to the memory limit.
 */
async function tellApart(compared: ComparedRows, differing: Set<number>): Promise<Difference[]> {
  const rows_a_place = 1 + compared.records / places;
  const looked_at = new Set([...differing].slice(0, Math.ceil(held_rows_max / rows_a_place)));
  const keys = new Map<string, { expected: RowTexts[]; found: RowTexts[] }>();
  const given_up = new Set<number>();
  const textsOf = reader(compared);
  for (const side of ['expected', 'found'] as const) {
    let characters = 0;
    let rows = 0;
    for await (const row of compared[side]()) {
      compared.onRow();
      const texts = textsOf(row);
      const place = placeOf(texts.key);
      if (!looked_at.has(place) || given_up.has(place)) continue;
      if (side === 'found' && compared.is_shared && !keys.has(texts.key)) continue;
      characters += rowText(texts.values).length;
      if (characters > held_characters_max && rows > 0) {
        given_up.add(place);
        continue;
      }
      rows += 1;
      const held = keys.get(texts.key) ?? { expected: [], found: [] };
      keys.set(texts.key, held);
      held[side].push(texts);
    }
  }
  const named = [...keys]
    .filter(([key]) => !given_up.has(placeOf(key)))
    .flatMap(([, { expected, found }]) => differencesOfKey(compared, expected, found));
  return listDifferences(compared.name, named, differing.size - looked_at.size + given_up.size);
}
