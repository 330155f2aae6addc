import { parentPort, workerData } from 'node:worker_threads';
import { parquetMetadataAsync } from 'hyparquet';
import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import { decimalText } from '../logical_text.ts';
import {
  FileBoundError,
  boundFooter,
  boundGroup,
  boundPages,
  nested_values_max,
} from './parquet_bounds.ts';
import { openParquetFile, readRows } from './parquet_file.ts';

/** A file, and the names of its columns to read; null: a column that it lacks. */
export type ParquetFile = { path: string; names: (string | null)[] };
/** The start message of the thread that reads files, one after the other. */
export type ParquetQuestion = { files: ParquetFile[] };
/** The thread's reply to each request for more, of one file; no rows means the end of all. */
export type ParquetReply =
  | { rows: ValueRow[]; file: number }
  | { bound: string }
  | { damage: string };

const reply_rows_max = 500;

/** The reader converts decimal numbers to floats: without their type, it returns their bytes. */
function withRawDecimals(metadata: FileMetaData): FileMetaData {
  for (const element of metadata.schema)
    if (element.converted_type === 'DECIMAL') {
      delete element.converted_type;
      delete element.logical_type;
    }
  return metadata;
}

/** Yields the rows in replies: each waits for a request. */
async function* readReplies({ files }: ParquetQuestion): AsyncGenerator<ParquetReply> {
  for (const [index, one] of files.entries()) yield* repliesOf(one, index);
  yield { rows: [], file: files.length };
}

async function* repliesOf(
  { path, names }: ParquetFile,
  index: number,
): AsyncGenerator<ParquetReply> {
  const { file, handle } = await openParquetFile(path);
  try {
    const end = new DataView(await file.slice(Math.max(0, file.byteLength - 8)));
    boundFooter(end.getUint32(0, true));
    const metadata = withRawDecimals(await parquetMetadataAsync(file));
    let from = 0;
    for (const group of metadata.row_groups) {
      const rows = await rowsOf(file, metadata, group, from);
      for (let at = 0; at < rows.length; at += reply_rows_max)
        yield {
          rows: rows.slice(at, at + reply_rows_max).map((row) => valuesOf(row, names)),
          file: index,
        };
      from += Number(group.num_rows);
    }
  } catch (error) {
    const { message } = error as Error;
    yield error instanceof FileBoundError ? { bound: message } : { damage: message };
  } finally {
    await handle.close();
  }
}

async function rowsOf(
  file: AsyncBuffer,
  metadata: FileMetaData,
  group: FileMetaData['row_groups'][number],
  from: number,
): Promise<Record<string, unknown>[]> {
  boundGroup(group);
  for (const { meta_data } of group.columns) {
    if (meta_data === undefined) continue;
    const start = Number(meta_data.dictionary_page_offset || meta_data.data_page_offset);
    const bytes = await file.slice(start, start + Number(meta_data.total_compressed_size));
    const isNested = meta_data.path_in_schema.length > 1;
    boundPages(new Uint8Array(bytes), isNested ? nested_values_max : Number(group.num_rows));
  }
  return readRows(file, metadata, from, from + Number(group.num_rows));
}

function valuesOf(row: Record<string, unknown>, names: (string | null)[]): ValueRow {
  return names.map((name) => {
    const value = (name === null ? null : (row[name] ?? null)) as
      | string
      | number
      | bigint
      | boolean
      | object
      | null;
    if (value === null) return null;
    if (value instanceof Uint8Array) return decimalText(value);
    if (typeof value === 'object') return jsonText(value);
    return Object.is(value, -0) ? '-0' : String(value);
  });
}

/** Returns lists and maps as JSON, with all digits of their numbers. */
function jsonText(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return decimalText(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${jsonText(inner)}`,
  );
  return `{${fields.join(',')}}`;
}

const replies = readReplies(workerData as ParquetQuestion);
parentPort?.on('message', () => {
  void replies.next().then(({ value }) => parentPort?.postMessage(value, []));
});
