import type { Column } from '../models/column.ts';
import type { Encoding } from '../destination/encoding.ts';
import { selectFor } from './select.ts';

/**
 * ClickHouse text that gives a row as a file has it, the settings that it needs, and the bytes that
 * each file has beside its rows.
 */
export type Measure = {
  expression: string;
  settings: Record<string, string | number>;
  bytes_of_file: number;
};

/**
 * Page headers, footer, and the least and greatest value of each column, where values are of the
 * usual size.
 */
const parquet_frame_bytes = 32 * 1024;

/**
 * What tells how many bytes a row takes in a file before compression: for text exactly those that
 * are written, for Parquet those of its values without dictionaries, which make them fewer; the
 * frame of a file of very large values may be larger than what is set aside for it.
 */
export function measureFor(encoding: Encoding, columns: Column[]): Measure {
  const { expressions, format, settings } = selectFor(encoding, columns);
  switch (encoding.format) {
    case 'JSONLines':
    case 'TabSeparated':
      return { expression: `formatRow('${format}', ${expressions})`, settings, bytes_of_file: 0 };
    case 'CSV':
      return {
        expression: `formatRow('CSV', ${expressions})`,
        settings,
        bytes_of_file: headerBytes(columns),
      };
    case 'Parquet':
      return {
        expression: `formatRow('RowBinary', ${expressions})`,
        settings,
        bytes_of_file: parquet_frame_bytes,
      };
  }
}

/**
 * The line of names: each in quotes, those in it doubled, with a comma or the line feed behind it.
 */
function headerBytes(columns: Column[]): number {
  return columns.reduce(
    (sum, { name }) => sum + Buffer.byteLength(name.replaceAll('"', '""')) + 3,
    0,
  );
}
