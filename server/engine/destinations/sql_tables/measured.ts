import { Transform, pipeline } from 'node:stream';
import type { Readable } from 'node:stream';

/**
 * Returns the same bytes, and calls `note` with the size of each chunk. The reader gets the error
 * of the bytes unchanged.
 */
export function measured(bytes: Readable, note: (size: number) => void): Readable {
  const counter = new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      note(chunk.length);
      callback(null, chunk);
    },
  });
  // The reader of the counter gets the error, because `pipeline` destroys the counter with it.
  pipeline(bytes, counter, () => undefined);
  return counter;
}
