import { createHash } from 'node:crypto';
import { Readable, Transform, pipeline } from 'node:stream';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { UserError } from '../user_error.ts';
import type { BackupFile } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';

/** Writes the stream, compressed, and reads it back: after it returns, the file has these bytes. */
export async function writeFile(
  place: BackupPlace,
  name: string,
  bytes: Readable,
): Promise<BackupFile> {
  const seen = measuring();
  await place.write(name, pipeline(bytes, createZstdCompress(), seen.stream, ignore));
  const file = { name, ...seen.facts() };
  for await (const _ of await openStored(place, file));
  return file;
}

/**
 * Returns the decompressed content of a file. The stream fails at its end if a byte has changed.
 */
export async function readFile(place: BackupPlace, file: BackupFile): Promise<Readable> {
  const plain = pipeline(await openStored(place, file), createZstdDecompress(), ignore);
  return Readable.from(explained(place, file, plain), { objectMode: false });
}

async function* explained(place: BackupPlace, file: BackupFile, plain: Readable) {
  try {
    yield* plain as AsyncIterable<Buffer>;
  } catch (error) {
    // The decompressor may find a changed byte before the hash does.
    throw /ZSTD|^Z_/.test(String((error as { code?: unknown }).code))
      ? damagedFile(place, file.name)
      : error;
  }
}

/** Returns the error of a file that has changed or is missing. */
export function damagedFile(place: BackupPlace, name: string): UserError {
  return new UserError(
    `The backup in ${place.name} is damaged: ${name} is missing or has changed. Restore ` +
      'another backup (--to an earlier time), or restore the file.',
  );
}

async function openStored(place: BackupPlace, file: BackupFile): Promise<Readable> {
  const content = await place.read(file.name);
  if (content === undefined) throw damagedFile(place, file.name);
  const seen = measuring(({ bytes, sha256 }) => {
    if (bytes !== file.bytes || sha256 !== file.sha256) throw damagedFile(place, file.name);
  });
  return pipeline(content, seen.stream, ignore);
}

/** The last stream of a pipeline reports the error to its reader. */
function ignore(): void {}

type Facts = { bytes: number; sha256: string };

/** Passes bytes on and measures them; `judge` throws if they are wrong. */
function measuring(judge: (facts: Facts) => void = () => undefined) {
  const hash = createHash('sha256');
  let bytes = 0;
  let facts: Facts | undefined;
  const stream = new Transform({
    highWaterMark: 1024 * 1024,
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
    flush: (done) => {
      facts = { bytes, sha256: hash.digest('hex') };
      try {
        judge(facts);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return { stream, facts: () => facts! };
}
