import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { giveBack } from '../../../platform/memory/buffer_pool.ts';

/**
 * Bytes that wait at most while others are written; they join the next system call, because small
 * chunks cost a thread switch each.
 */
const waiting_bytes = 2 * 1024 * 1024;
/** Bytes after which the disk starts to sync, so that little is left to wait for at the end. */
const sync_bytes = 32 * 1024 * 1024;

/**
 * Writes a stream to a file (a new one, or over an old one) and returns when it is on the disk.
 * Memory stays below a few MiB; an error of the stream or the disk rejects, and the caller handles
 * the partial file.
 */
export async function writeFileDurably(path: string, bytes: Readable): Promise<void> {
  const file = await open(path, 'w');
  const disk = openDisk(file);
  const write = (chunks: Buffer[], done: (error?: Error) => void) => {
    writeAll(file, chunks)
      .then((length) => disk.wrote(length))
      .then(() => chunks.forEach(giveBack))
      .then(() => done(), done);
  };
  try {
    await pipeline(
      bytes,
      new Writable({
        highWaterMark: waiting_bytes,
        write: (chunk: Buffer, _encoding, done) => write([chunk], done),
        writev: (entries, done) =>
          write(
            entries.map(({ chunk }) => chunk as Buffer),
            done,
          ),
      }),
    );
    await disk.settle();
    await file.sync();
  } finally {
    await disk.settle().catch(() => undefined);
    await file.close();
  }
}

async function writeAll(file: FileHandle, chunks: Buffer[]): Promise<number> {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  let { bytesWritten } = await file.writev(chunks);
  if (bytesWritten === length) return length;
  // A signal or a nearly full disk may cut a write short; writing the rest either succeeds or
  // reports the reason.
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (bytesWritten = 0; bytesWritten < rest.length;)
    bytesWritten += (await file.write(rest, bytesWritten)).bytesWritten;
  return length;
}

/** Syncs written bytes to the disk in parallel, one call at a time. */
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
