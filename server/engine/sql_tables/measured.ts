import { Readable } from 'node:stream';

/** The same bytes, of which `note` is told how many each chunk has. The reader gets the error of the bytes as it is. */
export function measured(bytes: Readable, note: (size: number) => void): Readable {
  const chunks = async function* () {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      note(chunk.length);
      yield chunk;
    }
  };
  return Readable.from(chunks(), { objectMode: false });
}
