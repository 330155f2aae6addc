import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import { versionColumns } from '../layout.ts';
import type { Layout } from '../layout.ts';

type Column = Layout['columns'][number];

/**
 * A row like an export's, for connection tests: a value of its type in every column, in
 * ClickHouse's text form. It needs no escapes.
 */
export type SampleRow = { columns: Column[]; values: string[]; merge?: MergeKeys | null };

const texts: Readonly<Record<string, string>> = {
  event: '$pageview',
  ip: '203.0.113.7',
  site_url: 'https://example.com/',
};

/** Returns a sample row with unique keys, for an export with or without a rule for merging rows. */
export function sampleRow(columns: Column[], merge?: MergeKeys | null): SampleRow {
  return { columns, values: columns.map(valueOf), ...(merge === undefined ? {} : { merge }) };
}

/** Returns the sample as one line of tab-separated text. */
export function sampleLine({ values }: SampleRow): string {
  return `${values.join('\t')}\n`;
}

/** Models with their own version. */
const made_by: Readonly<Record<string, Layout['model']>> = {
  session_version: 'sessions',
  group_version: 'groups',
};

/**
 * Returns the layout of a connection test, which does not know the model. Its version identifies
 * the model, as far as the key needs it (persons and their distinct ids have the same).
 */
export function testedLayout({ columns, merge }: Pick<Layout, 'columns' | 'merge'>): Layout {
  const [version] = versionColumns({ columns });
  return {
    model: version === undefined ? 'events' : (made_by[version] ?? 'persons'),
    columns,
    ...(merge === undefined ? {} : { merge }),
  };
}

/**
 * Lists the columns whose value was read back differently, each with both values, in words for an
 * error; undefined if there is none. `found` has the texts of the columns in order; the store
 * decides the notation of instants and numbers.
 */
export function changedValues(
  { columns, values }: SampleRow,
  found: readonly unknown[],
): string | undefined {
  const changed = columns
    .map((column, index) => ({ column, written: values[index] ?? '', read: found[index] }))
    .filter(({ column, written, read }) => !isSame(column, written, read))
    .map(
      ({ column, written, read }) =>
        `${column.name} (${written} was written, ` +
        `${read === '' ? 'an empty text' : textOf(read)} came back)`,
    );
  return changed.length === 0 ? undefined : changed.join(', ');
}

function valueOf(column: Column): string {
  switch (column.type) {
    case 'uuid':
      return randomUUID();
    case 'text':
      // The name of a computed column tells nothing about its value.
      return (
        (column.is_calculated === true ? undefined : texts[column.name]) ??
        `sluice-check-${randomUUID()}`
      );
    case 'json':
      // With a character of four bytes, which some character sets lack.
      return '{"of":"a connection test 🙂"}';
    case 'timestamp':
      return '2026-01-02T03:04:05.678901Z';
    case 'date':
      return '2026-01-02';
    case 'decimal':
      return '0.5';
    case 'integer':
      return '1';
    case 'float':
      return '0.5';
    case 'boolean':
      return 'true';
  }
}

function isSame({ type }: Column, written: string, read: unknown): boolean {
  if (read === null || read === undefined) return false;
  if (read instanceof Date) return read.getTime() === Date.parse(written);
  const text = textOf(read);
  switch (type) {
    case 'json':
      return isDeepStrictEqual(parsed(text), parsed(written));
    case 'timestamp':
      return instantOf(text) === instantOf(written);
    case 'integer':
    case 'float':
    case 'decimal':
      return Number(text) === Number(written);
    case 'boolean':
      return ['true', 't', '1'].includes(text.toLowerCase());
    case 'uuid':
      return text.toLowerCase() === written;
    case 'text':
    case 'date':
      return text === written;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}

/**
 * Returns the parsed JSON, or other text unchanged. A store may return a value that it has parsed.
 */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Returns date, time and fraction of an instant in UTC, in any notation of a store, without
 * trailing zeros of the fraction.
 */
function instantOf(text: string): string {
  return text
    .replace('T', ' ')
    .replace(/\s*(Z|UTC|[+-]00(:?00)?)$/, '')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}
