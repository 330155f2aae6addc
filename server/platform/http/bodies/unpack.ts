import type { Transform } from 'node:stream';

/**
 * Unpacks bytes by a stream of `node:zlib`. `note` hears how many have come of it so far, with each
 * piece and before it is kept: it throws where that is too much, and nothing more is made of it.
 * Rejects with what it threw, or with the fault of the stream.
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
