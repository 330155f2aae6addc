import type { Column } from '../../../model/models/column.ts';
import type { Encoding } from '../../../model/destination/encoding.ts';
import { common_settings, identifier } from '../expression.ts';
import type { FormatSelection } from '../expression.ts';
import { typedValue } from '../typed_value.ts';

/**
 * One Parquet file with row groups of 50,000 rows, compressed inside the file, without Bloom
 * filters. Text, uuid and json are UTF-8 strings, instants are microseconds UTC (logical type), and
 * integers have 64 bits. With larger row groups, ClickHouse needs gigabytes (2.9 GB at its default
 * size).
 */
export function selectParquet(
  columns: Column[],
  { compression, is_flat }: Pick<Encoding, 'compression'> & { is_flat?: true },
): FormatSelection {
  return {
    expressions: columns
      .map(
        (column, index) =>
          `${typedValue(column, index, { uuid_type: 'String', is_flat })} AS ` +
          identifier(column.name),
      )
      .join(', '),
    format: 'Parquet',
    settings: {
      ...common_settings,
      // blocks as large as row groups, so that groups always end at the same rows and the bytes
      // repeat
      max_block_size: 50_000,
      preferred_block_size_bytes: 0,
      output_format_parquet_row_group_size: 50_000,
      output_format_parquet_string_as_string: 1,
      // several encoders sometimes wait for each other for ever when the query fails
      output_format_parquet_parallel_encoding: 0,
      // A filter for each column, including texts and instants, is a seventh of the file and a
      // fifth of the work. Engines write none by default either.
      output_format_parquet_write_bloom_filter: 0,
      output_format_parquet_compression_method: compression ?? 'none',
    },
  };
}
