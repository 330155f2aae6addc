import { constants, crc32, deflateRaw, gunzipSync } from 'node:zlib';
import { promisify } from 'node:util';

/** The beginning of a gzip file that can be extended; `window` holds its last bytes. */
export type Packed = {
  blocks: Buffer;
  crc: number;
  bytes: number;
  window: Buffer;
};

/** An empty file. */
export const nothing_packed: Packed = {
  blocks: Buffer.alloc(0),
  crc: 0,
  bytes: 0,
  window: Buffer.alloc(0),
};

const deflate = promisify(deflateRaw);
const window_bytes = 32 * 1024;
const text_bytes_max = 256 * 1024 * 1024;
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/** Appends a text without compressing the earlier text again. */
export async function continuePacked(before: Packed, text: string): Promise<Packed> {
  return text === '' ? before : packed(before, text, constants.Z_SYNC_FLUSH);
}

/** Returns the bytes of a gzip file: the compressed beginning, then a text. */
export async function gzipFile(before: Packed, text: string): Promise<Buffer> {
  const { blocks, crc, bytes } = await packed(before, text, constants.Z_FINISH);
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc, 0);
  end.writeUInt32LE(bytes % 2 ** 32, 4);
  return Buffer.concat([header, blocks, end]);
}

/** Returns the text of a metadata file; its name says whether it is compressed. */
export function textOfFile(uri: string, content: Buffer): string {
  const is_packed = uri.endsWith('.gz.metadata.json');
  return (
    is_packed ? gunzipSync(content, { maxOutputLength: text_bytes_max }) : content
  ).toString();
}

async function packed(before: Packed, text: string, finishFlush: number): Promise<Packed> {
  const given = Buffer.from(text);
  // Later blocks refer to the last bytes before them, as in one stream.
  const dictionary = before.window.length === 0 ? {} : { dictionary: before.window };
  const blocks = await deflate(given, { level: 1, finishFlush, ...dictionary });
  return {
    blocks: Buffer.concat([before.blocks, blocks]),
    crc: crc32(given, before.crc),
    bytes: before.bytes + given.length,
    window: Buffer.concat([before.window, given.subarray(-window_bytes)]).subarray(-window_bytes),
  };
}
