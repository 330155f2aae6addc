import { parquetMetadata } from 'hyparquet';
import type { FileMetaData } from 'hyparquet';

/** A value for each of some fields, by their ids, in the form stored with a slice. */
export type ById<Value> = [id: number, value: Value][];

/**
 * The facts about a data file by which readers skip it. Bounds are base64 of Iceberg's single
 * values.
 */
export type FileStatistics = {
  column_sizes: ById<number>;
  value_counts: ById<number>;
  null_counts: ById<number>;
  lower_bounds: ById<string>;
  upper_bounds: ById<string>;
  split_offsets: number[];
};

type Chunk = NonNullable<FileMetaData['row_groups'][number]['columns'][number]['meta_data']>;

/** Keeps instants exact: as dates they would lose their microseconds. */
const parsers = {
  timestampFromMicroseconds: (value: bigint) => value,
} as unknown as NonNullable<Parameters<typeof parquetMetadata>[1]>['parsers'];

/**
 * Returns the rows and statistics of a Parquet file from its footer, length and magic included.
 * Instants and integers have bounds. Texts have none: a bound is a real value, such as an e-mail
 * address, and would stay in a manifest after its row is erased. Floats have none, because NaN has
 * no place in their order.
 */
export function readStatistics(
  tail: Uint8Array,
  ids: ReadonlyMap<string, number>,
): { records: number; statistics: FileStatistics } {
  const { row_groups, schema, num_rows } = parquetMetadata(tail, { parsers, geoparquet: false });
  const required = new Set(
    schema.flatMap(({ name, repetition_type }) => (repetition_type === 'REQUIRED' ? [name] : [])),
  );
  const found: FileStatistics = {
    column_sizes: [],
    value_counts: [],
    null_counts: [],
    lower_bounds: [],
    upper_bounds: [],
    split_offsets: row_groups.map(({ columns }) => startOf(columns[0]?.meta_data)),
  };
  for (const [name, id] of ids) {
    const chunks = row_groups.flatMap(({ columns }) =>
      columns.flatMap(({ meta_data }) =>
        meta_data?.path_in_schema.join('.') === name ? [meta_data] : [],
      ),
    );
    if (chunks.length === 0) continue;
    const sum = (value: (chunk: Chunk) => bigint) =>
      Number(chunks.reduce((total, chunk) => total + value(chunk), 0n));
    found.column_sizes.push([id, sum(({ total_compressed_size }) => total_compressed_size)]);
    found.value_counts.push([id, sum(({ num_values }) => num_values)]);
    // Snowflake needs a count even for columns that cannot be null, and the store writes none.
    if (required.has(name)) found.null_counts.push([id, 0]);
    else if (chunks.every(({ statistics }) => statistics?.null_count !== undefined))
      found.null_counts.push([id, sum(({ statistics }) => statistics!.null_count!)]);
    addBounds(found, id, chunks);
  }
  return { records: Number(num_rows), statistics: found };
}

function startOf(chunk: Chunk | undefined): number {
  return Number(chunk?.dictionary_page_offset ?? chunk?.data_page_offset ?? 4n);
}

/** A group with only nulls has no bounds; one with values and without bounds removes all bounds. */
function addBounds(found: FileStatistics, id: number, chunks: Chunk[]): void {
  const bounded = chunks.filter(
    ({ num_values, statistics }) => statistics?.null_count !== num_values,
  );
  const lows = bounded.map(({ statistics }) => statistics?.min_value);
  const highs = bounded.map(({ statistics }) => statistics?.max_value);
  if (!areIntegers(lows) || !areIntegers(highs)) return;
  found.lower_bounds.push([
    id,
    longBytes(lows.reduce((one, other) => (other < one ? other : one))),
  ]);
  found.upper_bounds.push([
    id,
    longBytes(highs.reduce((one, other) => (other > one ? other : one))),
  ]);
}

function areIntegers(values: unknown[]): values is bigint[] {
  return values.length > 0 && values.every((value) => typeof value === 'bigint');
}

function longBytes(value: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes.toString('base64');
}
