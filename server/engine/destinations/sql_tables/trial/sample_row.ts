import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import { versionColumns } from '../layout.ts';
import type { Layout } from '../layout.ts';

type Column = Layout['columns'][number];

/**
 * A row such as an export brings, for connection tests: a value of its type in every column, in the
 * text that ClickHouse writes. Nothing in it needs an escape.
 */
export type SampleRow = { columns: Column[]; values: string[]; merge?: MergeKeys | null };

const texts: Readonly<Record<string, string>> = {
  event: '$pageview',
  ip: '203.0.113.7',
  site_url: 'https://example.com/',
};

/** A sample row whose keys no other row has, of an export that says or not how rows are merged. */
export function sampleRow(columns: Column[], merge?: MergeKeys | null): SampleRow {
  return { columns, values: columns.map(valueOf), ...(merge === undefined ? {} : { merge }) };
}

/** The sample as one line of tab-separated text. */
export function sampleLine({ values }: SampleRow): string {
  return `${values.join('\t')}\n`;
}

/** Models with a version of their own. */
const made_by: Readonly<Record<string, Layout['model']>> = {
  session_version: 'sessions',
  group_version: 'groups',
};

/**
 * The layout of a connection test, which is not told the model: its version names the model, as far
 * as the key goes (persons and their distinct ids have the same).
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
 * The columns of which another value came back than was written, each with both values, in words
 * for an error; undefined when there is none. `found` has the texts of
 * the columns in their order; what instants and numbers look like is the store's.
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
      // The name of a column that a query has made says nothing about its value.
      return (
        (column.is_calculated === true ? undefined : texts[column.name]) ??
        `sluice-check-${randomUUID()}`
      );
    case 'json':
      // With a character that takes four bytes: some character sets have none of these.
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

/** JSON, or what is none as it is. A store may give a value back that it has parsed. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Date, time and fraction of an instant in UTC, in whatever way a store writes it; at the end of
 * the fraction zeros do not count.
 */
function instantOf(text: string): string {
  return text
    .replace('T', ' ')
    .replace(/\s*(Z|UTC|[+-]00(:?00)?)$/, '')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');
}
