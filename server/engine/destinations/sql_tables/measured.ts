import { Transform, pipeline } from 'node:stream';
import type { Readable } from 'node:stream';

/**
 * The same bytes, of which `note` is told how many each chunk has. The reader gets the error of the
 * bytes as it is.
 */
export function measured(bytes: Readable, note: (size: number) => void): Readable {
  const counter = new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      note(chunk.length);
      callback(null, chunk);
    },
  });
  // The error reaches the reader of the counter, which `pipeline` destroys with it.
  pipeline(bytes, counter, () => undefined);
  return counter;
}
