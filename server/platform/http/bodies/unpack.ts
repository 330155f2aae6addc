import type { Transform } from 'node:stream';

/**
 * Unpacks bytes with a stream of `node:zlib`. Calls `note` with the unpacked size so far, before
 * each piece is stored; if it throws, unpacking stops. Rejects with that error, or with the fault
 * of the stream.
 */
export function unpackBy(
  unpacker: Transform,
  bytes: Uint8Array,
  note: (bytes: number) => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    unpacker.on('data', (piece: Buffer) => {
      length += piece.length;
      try {
        note(length);
        pieces.push(piece);
      } catch (error) {
        unpacker.destroy(error as Error);
      }
    });
    unpacker.on('end', () => resolve(Buffer.concat(pieces, length)));
    unpacker.on('error', reject);
    unpacker.end(bytes);
  });
}
