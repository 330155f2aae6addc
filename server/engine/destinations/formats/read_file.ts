import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { Column } from '../../model/models/column.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { readAvro } from './avro/read_avro.ts';
import { readCsv } from './text/read_csv.ts';
import { readJsonLines } from './text/read_json_lines.ts';
import { readParquet } from './parquet/read_parquet.ts';

/**
 * Yields the rows of a file in its encoding, in bounded memory: the values of the columns as text.
 * Throws for an invalid file.
 */
export function readFileRows(
  content: Readable,
  encoding: Encoding,
  columns: Pick<Column, 'name' | 'type'>[],
): AsyncIterable<ValueRow> {
  switch (encoding.format) {
    case 'JSONLines':
      return readJsonLines(decompressed(content, encoding), columns);
    case 'CSV':
      return readCsv(decompressed(content, encoding));
    case 'Parquet':
      return readParquet(content, columns);
    case 'Avro':
      return readAvro(content, columns);
    case 'TabSeparated':
      throw new Error('No files are written as tab-separated text.');
  }
}

function decompressed(content: Readable, { compression }: Encoding): Readable {
  const stage =
    compression === 'gzip'
      ? createGunzip()
      : compression === 'brotli'
        ? createBrotliDecompress()
        : compression === 'zstd'
          ? createZstdDecompress()
          : undefined;
  if (stage === undefined) return content;
  // The reader of the last stage gets the error, because `pipeline` destroys the stage with it.
  return pipeline(content, stage, () => undefined);
}
