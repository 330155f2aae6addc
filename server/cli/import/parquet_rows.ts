import { parquetMetadataAsync } from 'hyparquet';
import type { FileMetaData } from 'hyparquet';
import {
  openParquetFile,
  readRows,
} from '../../engine/destinations/formats/parquet/parquet_file.ts';
import type { Line } from '../../engine/ingest/parse/lines.ts';

const json = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Rows read at a time; a row group is read as a whole. */
const rows_at_once = 5_000;

/**
 * Opens the rows of a Parquet file as lines of JSON, numbered from 1, with the memory of one row
 * group. Values keep all their digits, and instants are UTC.
 */
export async function openParquetRows(path: string): Promise<{
  lines_total: number;
  lines(): AsyncGenerator<Line[]>;
}> {
  const { file, handle } = await openParquetFile(path);
  const metadata = await parquetMetadataAsync(file).finally(() => handle.close());
  return { lines_total: Number(metadata.num_rows), lines: () => linesOf(path, metadata) };
}

async function* linesOf(path: string, metadata: FileMetaData): AsyncGenerator<Line[]> {
  const { file, handle } = await openParquetFile(path);
  try {
    let from = 0;
    for (const { num_rows } of metadata.row_groups) {
      const start = from;
      from += Number(num_rows);
      const rows = await readRows(file, metadata, start, from);
      for (let at = 0; at < rows.length; at += rows_at_once)
        yield rows
          .slice(at, at + rows_at_once)
          .map((row, index) => ({ number: start + at + index + 1, text: lineOf(row) }));
    }
  } finally {
    await handle.close();
  }
}

function lineOf(row: Record<string, unknown>): string {
  return JSON.stringify(row, (_, value: unknown) => {
    if (typeof value === 'bigint') return json.rawJSON(String(value));
    return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value;
  });
}
