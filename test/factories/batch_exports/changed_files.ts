import {
  brotliCompressSync,
  brotliDecompressSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { Encoding } from '../../../server/engine/model/destination/encoding.ts';

const same = (bytes: Buffer): Buffer => bytes;
const ways: Record<string, [open: typeof same, close: typeof same]> = {
  gzip: [gunzipSync, gzipSync],
  brotli: [brotliDecompressSync, brotliCompressSync],
  zstd: [zstdDecompressSync, zstdCompressSync],
};

/**
 * Changes a file of the contract's rows: the event `plain` becomes `plane`, and the properties of
 * its row become `{"a":2}` instead of `{"a":1}`.
 */
export function changedFile(bytes: Buffer, { format, compression }: Encoding): Buffer {
  const [open, close] = (format === 'Parquet' ? undefined : ways[compression ?? '']) ?? [
    same,
    same,
  ];
  const text = open(bytes).toString('latin1');
  const changed = text.replace('plain', 'plane').replace(/(a"+:)1\}/, '$12}');
  // A Parquet file also has its texts in its statistics, in any order.
  const all = text.replaceAll('plain', 'plane').replaceAll('{"a":1}', '{"a":2}');
  return close(Buffer.from(format === 'Parquet' ? all : changed, 'latin1'));
}
