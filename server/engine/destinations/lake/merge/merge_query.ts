import { literal, identifier } from '../../formats/expression.ts';
import type { SortedColumn } from '../../../model/destination/destination.ts';
import type { MergeKeys } from '../../../model/destination/write_mode.ts';
import { lineage_fields, row_id, row_sequence } from '../row_lineage.ts';
import type { Lineage } from '../row_lineage.ts';

/** A column of a table: its name, and the type by which ClickHouse reads and writes it exactly. */
export type MergedColumn = { id: number; name: string; type: string };

/**
 * A Parquet file of this machine, and the names of the table's columns in it, by id. A column that
 * it lacks is null, unless `values` has one text for all of its rows.
 */
export type MergedFile = {
  path: string;
  names: ReadonlyMap<number, string>;
  values?: ReadonlyMap<number, string | null>;
  /** The ids of its rows if they are permanent; `names` contains its own columns for them. */
  lineage?: Lineage;
};

/** Existing and new rows, and the order in which they are written. */
export type Merging = {
  columns: readonly MergedColumn[];
  there: readonly MergedFile[];
  came: MergedFile;
  merge: MergeKeys;
  order: readonly SortedColumn[];
  /** True if rows keep their ids in the new file. */
  tracks_rows: boolean;
};

const [came_mark, rank_mark] = ['__sluice_came', '__sluice_rank'];
const kept_mark = '__sluice_row_id';

/** ClickHouse types of columns that can be merged, by their Iceberg types. */
const types: Record<string, string> = {
  string: 'String',
  timestamptz: "DateTime64(6, 'UTC')",
  long: 'Int64',
  int: 'Int32',
  double: 'Float64',
  float: 'Float32',
  boolean: 'Bool',
  date: 'Date32',
};

/**
 * Returns the ClickHouse type of a column's Iceberg type; undefined for one that cannot be merged.
 */
export function mergedType(type: unknown): string | undefined {
  if (typeof type !== 'string') return undefined;
  const decimal = /^decimal\((\d+), *(\d+)\)$/.exec(type);
  const found = decimal === null ? types[type] : `Decimal(${decimal[1]}, ${decimal[2]})`;
  return found === undefined ? undefined : `Nullable(${found})`;
}

/** The columns of a row's id and sequence number in a file. */
export const lineage_columns: readonly MergedColumn[] = lineage_fields.map(({ id, name }) => ({
  id,
  name,
  type: mergedType('long')!,
}));

/** Counts the keys whose row changes: new rows that are greater than the existing ones. */
export function changesQuery(merging: Merging): string {
  return `SELECT count() FROM (${ranked(merging)}) WHERE ${rank_mark} = 1 AND ${came_mark} = 1
    ${settings}`;
}

/** Writes the greatest row of each key into a new file. */
export function mergeQuery(merging: Merging, path: string): string {
  const names = [
    ...merging.columns.map(({ name }) => identifier(name)),
    // A changed row keeps its id. Its sequence number is null, which readers replace by the
    // commit's.
    ...(merging.tracks_rows ? [`${kept_mark} AS ${row_id.name}`, row_sequence.name] : []),
  ].join(', ');
  const order = merging.order.map(
    ({ column, is_descending }) =>
      `${identifier(column)} ${is_descending ? 'DESC' : 'ASC'} NULLS LAST`,
  );
  // A row without a key equals no other one.
  const nullKeys = merging.merge.key.map((name) => ` OR isNull(${identifier(name)})`).join('');
  return `INSERT INTO FUNCTION file(${literal(path)}, 'Parquet') SELECT ${names}
    FROM (${ranked(merging)}) WHERE ${rank_mark} = 1${nullKeys} ORDER BY ${order.join(', ')}
    ${settings}`;
}

/**
 * Returns the rows of both sides, ranked within their key by the rule of a merge: the greatest
 * version first, null lower than any value. Of equal versions, the row with greater other values
 * wins; of equal rows, the existing one. A window only holds the rows of one key.
 */
function ranked({ columns, there, came, merge, tracks_rows }: Merging): string {
  const { key, versions } = merge;
  const others = columns.map(({ name }) => name).filter((name) => !key.includes(name));
  const rank = [...versions, ...others.filter((name) => !versions.includes(name))].map(
    (name) => `${identifier(name)} DESC NULLS LAST`,
  );
  const read = (file: MergedFile, from: 0 | 1) => rowsOf(columns, file, from, tracks_rows);
  const rows = [...there.map((file) => read(file, 0)), read(came, 1)].join(' UNION ALL ');
  const partition = `PARTITION BY ${key.map(identifier).join(', ')}`;
  const no_key = key.map((name) => `isNull(${identifier(name)})`).join(' OR ');
  const kept = tracks_rows
    ? `, if(${came_mark} = 0 OR ${no_key}, ${row_id.name},
        min(${row_id.name}) OVER (${partition})) AS ${kept_mark}`
    : '';
  return `SELECT *, row_number() OVER (${partition}
      ORDER BY ${[...rank, came_mark].join(', ')}) AS ${rank_mark}${kept} FROM (${rows})`;
}

function rowsOf(
  columns: readonly MergedColumn[],
  { path, names, values: beside, lineage }: MergedFile,
  came: 0 | 1,
  tracks_rows: boolean,
): string {
  const values = columns.map(({ id, name, type }) => {
    const own = names.get(id);
    const text = beside?.get(id);
    const value =
      own === undefined ? ((text ?? null) === null ? 'NULL' : literal(text!)) : identifier(own);
    return `CAST(${value}, ${literal(type)}) AS ${identifier(name)}`;
  });
  const read = [...columns, ...(tracks_rows ? lineage_columns : [])];
  const structure = read.flatMap(({ id, type }) => {
    const own = names.get(id);
    return own === undefined ? [] : [`${identifier(own)} ${type}`];
  });
  const kept = tracks_rows ? lineageOf(names, lineage) : [];
  return `SELECT ${[...values, `${came} AS ${came_mark}`, ...kept].join(', ')}
    FROM file(${literal(path)}, 'Parquet', ${literal(structure.join(', '))})`;
}

/**
 * Returns the id and the sequence number of each row: its own, or those inherited from its file.
 */
function lineageOf(names: MergedFile['names'], lineage: Lineage | undefined): string[] {
  const first = lineage?.first_row_id ?? null;
  const inherited = [
    first === null ? 'NULL' : `${first} + _row_number`,
    lineage === undefined ? 'NULL' : String(lineage.sequence_number),
  ];
  return lineage_columns.map(({ id, name, type }, index) => {
    const own = names.get(id);
    const value =
      own === undefined ? inherited[index] : `ifNull(${identifier(own)}, ${inherited[index]})`;
    return `CAST(${value}, ${literal(type)}) AS ${name}`;
  });
}

/** Sorts on disk beyond 100 MB, and writes Parquet like an export. */
const settings = `SETTINGS max_threads = 2, max_block_size = 50000, max_insert_block_size = 50000,
  min_insert_block_size_rows = 50000, preferred_block_size_bytes = 0,
  max_bytes_before_external_sort = 100000000, max_bytes_ratio_before_external_sort = 0,
  prefer_column_name_to_alias = 1, input_format_parquet_case_insensitive_column_matching = 0,
  input_format_parquet_max_block_size = 50000, output_format_parquet_row_group_size = 50000,
  output_format_parquet_string_as_string = 1, output_format_parquet_parallel_encoding = 0,
  output_format_parquet_write_bloom_filter = 0, output_format_parquet_compression_method = 'zstd',
  max_query_size = 16000000`;
