import { crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { snappyUncompress } from 'hyparquet';
import type { ValueRow } from '../../../model/destination/content_source.ts';
import type { Column } from '../../../model/models/column.ts';
import { damaged, readHeader, readLong } from './avro_header.ts';
import { readAvroSchema } from './avro_schema.ts';
import { beyondBound } from '../parquet/parquet_bounds.ts';

/** Limits of the store's output: an unpacked block has 64 KiB and one row more. */
const block_bytes_max = 256 * 1024 * 1024;
const marker_bytes = 16;

type Unpack = (block: Buffer) => Buffer;

/**
 * Yields the rows of an Avro file, in the memory of one block. Throws for an invalid file, a
 * FileBoundError if it needs more than files of exports.
 */
export async function* readAvro(
  bytes: AsyncIterable<Buffer>,
  columns: Pick<Column, 'name'>[],
): AsyncGenerator<ValueRow> {
  let held: Buffer = Buffer.alloc(0);
  let wanted = 0;
  let file:
    | { read: (block: Buffer, rows: number) => Iterable<ValueRow>; unpack: Unpack }
    | undefined;
  for await (const chunk of bytes) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    if (held.length < wanted) continue;
    if (file === undefined) {
      const header = readHeader(held);
      if (header === undefined) {
        if (held.length > block_bytes_max) throw beyondBound('Its header is too long');
        continue;
      }
      const { metadata, end } = header;
      file = {
        read: readAvroSchema(
          metadata.get('avro.schema') ?? '',
          columns.map(({ name }) => name),
        ),
        unpack: unpackerOf(metadata.get('avro.codec') ?? 'null'),
      };
      held = held.subarray(end);
    }
    for (;;) {
      const block = nextBlock(held);
      wanted = block.end;
      if (block.data === undefined) break;
      yield* file.read(file.unpack(block.data), block.rows);
      held = held.subarray(block.end);
      wanted = 0;
    }
  }
  if (file === undefined || held.length > 0) throw damaged();
}

/** Returns a whole block, or the least number of bytes that it needs. */
function nextBlock(bytes: Buffer): { rows: number; data?: Buffer; end: number } {
  const rows = readLong(bytes, 0);
  const size = rows && readLong(bytes, rows.end);
  if (rows === undefined || size === undefined) return { rows: 0, end: bytes.length + 1 };
  if (rows.value < 0 || size.value < 0) throw damaged();
  if (size.value > block_bytes_max)
    throw beyondBound(`One of its blocks claims ${size.value} bytes`);
  const end = size.end + size.value + marker_bytes;
  if (bytes.length < end) return { rows: 0, end };
  return { rows: rows.value, data: bytes.subarray(size.end, end - marker_bytes), end };
}

function unpackerOf(codec: string): Unpack {
  const options = { maxOutputLength: block_bytes_max };
  switch (codec) {
    case 'null':
      return (block) => block;
    case 'deflate':
      return (block) => inflateRawSync(block, options);
    case 'zstandard':
      return (block) => zstdDecompressSync(block, options);
    case 'snappy':
      return unpackSnappy;
    default:
      throw new Error(`The codec ${codec} of the Avro file is not known.`);
  }
}

/** A block begins with the length of its content and ends with its checksum. */
function unpackSnappy(block: Buffer): Buffer {
  let length = 0;
  for (let at = 0; ; at += 1) {
    const byte = block[at];
    if (byte === undefined || at > 4) throw damaged();
    length += (byte & 127) * 128 ** at;
    if (byte < 128) break;
  }
  if (length > block_bytes_max) throw beyondBound(`One of its blocks claims ${length} bytes`);
  const unpacked = Buffer.alloc(length);
  snappyUncompress(block.subarray(0, -4), unpacked);
  if (block.length < 5 || crc32(unpacked) !== block.readUInt32BE(block.length - 4)) throw damaged();
  return unpacked;
}
