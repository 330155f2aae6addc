import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { MergeKeys } from '../../server/engine/model/destination/write_mode.ts';

const column = (name: string, type: Column['type'], nullable = false): Column => ({
  name,
  type,
  nullable,
  expression: name,
  is_calculated: true,
});

/** The columns of the rows, which a query has made. */
export const columns: Column[] = [
  column('name', 'text', true),
  column('shop', 'text'),
  column('revision', 'integer', true),
  column('number', 'integer'),
  column('changed', 'timestamp', true),
  column('total', 'float', true),
  column('properties', 'json'),
  column('is_deleted', 'boolean'),
];

/** The columns by which rows are merged. */
export const merge: MergeKeys = { key: ['shop', 'number'], versions: ['changed', 'revision'] };

const at = (name: string) => columns.findIndex((one) => one.name === name);
const [shop, number, changed, revision] = [at('shop'), at('number'), at('changed'), at('revision')];

/** The key of a row as one text. */
export function keyOf(row: ValueRow): string {
  return JSON.stringify([row[shop], row[number]]);
}

/** Is the version of the first row greater? The instant decides, then the number; null is least. */
function isGreater(one: ValueRow, other: ValueRow): boolean {
  const [instant, other_instant] = [one[changed] ?? '', other[changed] ?? ''];
  if (instant !== other_instant) return instant > other_instant;
  const [count, other_count] = [one[revision] ?? null, other[revision] ?? null];
  if (count === null || other_count === null) return count !== null && other_count === null;
  return BigInt(count) > BigInt(other_count);
}

/** The rows of the greatest version of each key, whatever the order of their deliveries. */
export function greatest(rows: ValueRow[]): Map<string, ValueRow[]> {
  const left = new Map<string, ValueRow[]>();
  for (const row of rows) {
    const known = left.get(keyOf(row)) ?? [];
    if (known.length > 0 && isGreater(known[0]!, row)) continue;
    const isAlone = known.length === 0 || isGreater(row, known[0]!);
    left.set(keyOf(row), isAlone ? [row] : [...known, row]);
  }
  return left;
}
