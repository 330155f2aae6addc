import { Type } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import type {
  ConfigViolation,
  Delivery,
  SortedColumn,
} from '../../model/destination/destination.ts';
import type { TableField } from '../../model/destination/partition.ts';
import { violation } from '../../model/destination/violation.ts';
import type { MergeKeys } from '../../model/destination/write_mode.ts';
import type { Column } from '../../model/models/column.ts';
import type { Config } from './place.ts';
import { bucketsOf } from './transforms.ts';

const fields_max = 4;
const buckets_max = 1_000;
/** Buckets of a merged table whose export names no partitions. */
const usual_buckets = 16;

const names = (description: string) =>
  Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
        maxItems: fields_max,
        default: null,
        description,
      }),
    ),
  );

/** The keys of a config that determine the layout of a table's rows in its files. */
export const layout_keys = {
  partition_by: names(
    'Each file holds rows of one partition: `timestamp` (each value), `month(timestamp)`, ' +
      '`day(timestamp)`, `hour(timestamp)`, or `bucket(16, distinct_id)`. If empty, a table that ' +
      `is there decides; Sluice creates a merged table with ${usual_buckets} buckets of its key, ` +
      'others without partitions.',
  ),
  sort_by: names(
    'The columns by which the rows of each file are sorted, as `event` or `timestamp desc`. ' +
      'If empty: merged rows by their key, others as they were ingested.',
  ),
};

type LayoutConfig = { partition_by?: string[] | null; sort_by?: string[] | null };

/** Returns the fields of a config; undefined if it leaves them to the table. */
export function askedFields(config: Config): TableField[] | undefined {
  const { partition_by } = config as LayoutConfig;
  return partition_by?.map((text) => readField(text));
}

/** Returns the sort columns of a file's rows: the config's, or else those of a merge. */
export function sortedBy(config: Config, { merge }: Pick<Delivery, 'merge'>): SortedColumn[] {
  const { sort_by } = config as LayoutConfig;
  const asked = sort_by?.map((text) => {
    const [, column = text, word = ''] = /^(.*?)(?: +(asc|desc))?$/i.exec(text) ?? [];
    return { column, is_descending: word.toLowerCase() === 'desc' };
  });
  return asked ?? (merge?.key ?? []).map((column) => ({ column, is_descending: false }));
}

function readField(text: string): TableField {
  const [, unit, column = text] = /^(month|day|hour)\((.+)\)$/.exec(text) ?? [];
  if (unit !== undefined) return { column, transform: unit };
  const [, count, hashed] = /^bucket\((\d+) *, *(.+)\)$/.exec(text) ?? [];
  if (hashed !== undefined) return { column: hashed, transform: `bucket[${Number(count)}]` };
  return { column: text, transform: 'identity' };
}

/**
 * Returns the default fields of a new table: for merged rows, buckets of the key, because a
 * delivery then only rewrites the buckets of its keys. A grouping query has none, because its rows
 * would be computed once for each bucket.
 */
export function usualFields(
  { merge, columns }: Pick<Delivery, 'merge' | 'columns'>,
  is_row_wise: boolean,
): TableField[] {
  if (!merge || !is_row_wise) return [];
  const key = merge.key
    .filter((name) => name !== 'team_id' || merge.key.length === 1)
    .find((name) => fieldFault({ column: name, transform: 'bucket[2]' }, columns) === undefined);
  return key === undefined ? [] : [{ column: key, transform: `bucket[${usual_buckets}]` }];
}

const bucketed: readonly Column['type'][] = ['uuid', 'text', 'integer', 'timestamp'];
const repeated: readonly Column['type'][] = ['uuid', 'text', 'integer', 'boolean', 'date'];
const ordered: readonly Column['type'][] = [...repeated, 'timestamp', 'decimal'];

/** Checks a layout against the columns of an export and the merge of its rows. */
export function layoutViolations(
  config: Config,
  columns: readonly Column[],
  merge: MergeKeys | null | undefined,
): ConfigViolation[] {
  const { partition_by, sort_by } = config as LayoutConfig;
  const found: ConfigViolation[] = [];
  const fields = askedFields(config) ?? [];
  const add = (attr: keyof LayoutConfig, detail: string | undefined) => {
    if (detail !== undefined) found.push(violation(attr, detail));
  };
  for (const field of fields) {
    add('partition_by', fieldFault(field, columns));
    if (merge && !merge.key.includes(field.column))
      add(
        'partition_by',
        `Rows of one key must lie in one partition, and \`${field.column}\` is not in ` +
          '`primary_key`. Name a column of the key, such as ' +
          `\`bucket(${usual_buckets}, ${merge.key[0]})\`.`,
      );
  }
  if (new Set(partition_by?.map((text) => fieldName(readField(text)))).size < fields.length)
    add('partition_by', 'It names a partition twice.');
  const order = sortedBy({ sort_by: sort_by ?? [] }, {});
  for (const { column } of order) add('sort_by', typeFault(column, columns, ordered, 'sorted by'));
  if (new Set(order.map(({ column }) => column)).size < order.length)
    add('sort_by', 'It names a column twice.');
  return found;
}

function fieldFault(
  { column, transform }: TableField,
  columns: readonly Column[],
): string | undefined {
  if (/[()]/.test(column))
    return (
      `\`${column}\` is no partition. Write a column, or month(column), day(column), ` +
      'hour(column) or bucket(16, column).'
    );
  // Manifests are Avro files, and have a field of this name.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(column))
    return `A partition cannot be named after \`${column}\`: give the column another alias.`;
  if (transform === 'identity') return typeFault(column, columns, repeated, 'a partition');
  const buckets = bucketsOf(transform);
  if (buckets === undefined)
    return typeFault(column, columns, ['timestamp'], `parted by ${transform}`);
  if (buckets < 1 || buckets > buckets_max) return `A table has 1 to ${buckets_max} buckets.`;
  return typeFault(column, columns, bucketed, 'hashed into buckets');
}

function typeFault(
  name: string,
  columns: readonly Column[],
  types: readonly Column['type'][],
  use: string,
): string | undefined {
  const found = columns.find((column) => column.name === name);
  if (found === undefined) return `The export has no column \`${name}\`.`;
  return types.includes(found.type)
    ? undefined
    : `The column \`${name}\` has the type ${found.type}; to be ${use} it must be ` +
        `${types.join(', ')}.`;
}

/** Returns the name of a field among the partitions of a table. */
export function fieldName({ column, transform }: TableField): string {
  if (transform === 'identity') return column;
  return `${column}_${transform.startsWith('bucket') ? 'bucket' : transform}`;
}
