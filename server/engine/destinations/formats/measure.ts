import type { Column } from '../../model/models/column.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { common_settings } from './expression.ts';
import { selectFor } from './select.ts';

/**
 * ClickHouse text for the bytes of a row in a file, its settings, and the bytes that each file has
 * beside its rows.
 */
export type Measure = {
  expression: string;
  settings: Record<string, string | number>;
  bytes_of_file: number;
};

/**
 * Page headers, footer, and the least and greatest value of each column, for values of the usual
 * size.
 */
const parquet_frame_bytes = 32 * 1024;

/**
 * Returns the measure of a row's bytes in a file before compression: for text the exact bytes, for
 * Parquet those of its values without dictionaries, which reduce them. The frame of a file of very
 * large values may exceed its reserve.
 */
export function measureFor(encoding: Encoding, columns: Column[]): Measure {
  const { expressions, format, settings } = selectFor(encoding, columns);
  switch (encoding.format) {
    case 'JSONLines':
    case 'TabSeparated':
      return {
        expression: `length(formatRow('${format}', ${expressions}))`,
        settings,
        bytes_of_file: 0,
      };
    case 'CSV':
      return {
        expression: `length(formatRow('CSV', ${expressions}))`,
        settings,
        bytes_of_file: headerBytes(columns),
      };
    case 'Parquet':
    case 'Avro':
      return {
        expression: `length(formatRow('RowBinary', ${expressions}))`,
        settings,
        bytes_of_file: encoding.format === 'Avro' ? 0 : parquet_frame_bytes,
      };
  }
}

/** Size of a value that is no text, such as an instant or a uuid in quotes. */
const short_value_bytes = 32;

/**
 * Returns the approximate size of a row as a line of JSON: its names, and the stored texts without
 * escapes.
 */
export function roughMeasureFor(columns: Column[]): Measure {
  const parts = columns.map(({ name, type, expression }) => {
    const around = Buffer.byteLength(name) + '"":"",'.length;
    return type === 'text' || type === 'json'
      ? `ifNull(length(toString(${expression})), 0) + ${around}`
      : String(around + short_value_bytes);
  });
  return { expression: parts.join(' + '), settings: common_settings, bytes_of_file: 0 };
}

/**
 * Returns the size of the header line: each name in quotes, inner quotes doubled, followed by a
 * comma or the line feed.
 */
function headerBytes(columns: Column[]): number {
  return columns.reduce(
    (sum, { name }) => sum + Buffer.byteLength(name.replaceAll('"', '""')) + 3,
    0,
  );
}
