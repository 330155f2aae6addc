import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** Bytes that one system call writes: small chunks cost a thread hand-over each. */
const write_bytes = 1024 * 1024;
/** Bytes after which the disk is told to begin, so that at the end little is left to wait for. */
const sync_bytes = 32 * 1024 * 1024;

/**
 * Writes a stream into a file (a new one, or over an old one) and returns when it is on the disk. Memory stays below a few MiB; an error of the stream or the disk rejects, and the
 * half-written file is left to the caller.
 */
export async function writeFileDurably(path: string, bytes: Readable): Promise<void> {
  const file = await open(path, 'w');
  const disk = openDisk(file);
  try {
    let chunks: Buffer[] = [];
    let size = 0;
    let writing: Promise<void> = Promise.resolve();
    const flush = async () => {
      const [full, length] = [chunks, size];
      [chunks, size] = [[], 0];
      await writing;
      writing = writeAll(file, full, length).then(() => disk.wrote(length));
      // Awaited with the next flush; until then a failure must not count as unhandled.
      writing.catch(() => undefined);
    };
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= write_bytes) await flush();
    }
    await flush();
    await writing;
    await disk.settle();
    await file.sync();
  } finally {
    await disk.settle().catch(() => undefined);
    await file.close();
  }
}

async function writeAll(file: FileHandle, chunks: Buffer[], length: number): Promise<void> {
  if (length === 0) return;
  let { bytesWritten } = await file.writev(chunks);
  if (bytesWritten === length) return;
  // A signal or a nearly full disk may cut a write short; what is left either goes through or says why not.
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (bytesWritten = 0; bytesWritten < rest.length;) bytesWritten += (await file.write(rest, bytesWritten)).bytesWritten;
}

/** Brings written bytes to the disk beside the writing, one call at a time. */
function openDisk(file: FileHandle): { wrote(length: number): void; settle(): Promise<void> } {
  let pending = 0;
  let syncing: Promise<void> | undefined;
  let failure: Error | undefined;
  return {
    wrote: (length) => {
      pending += length;
      if (pending < sync_bytes || syncing !== undefined) return;
      pending = 0;
      syncing = file
        .datasync()
        .catch((error: Error) => {
          failure = error;
        })
        .finally(() => {
          syncing = undefined;
        });
    },
    settle: async () => {
      await syncing;
      if (failure !== undefined) throw failure;
    },
  };
}
