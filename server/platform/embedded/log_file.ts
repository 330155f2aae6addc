import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';

const look_ms = 60_000;
const bytesMax = 16 * 1024 * 1024;
const tailBytes = 64 * 1024;

/** The open log of a program, which becomes its output. */
export type LogFile = {
  path: string;
  fd: number;
  /** Returns the text written since this process opened the file (the first 64 KB). */
  read(): string;
  close(): void;
};

/**
 * Rotates the log if it has become long: copies it to `<path>.1`, because its program keeps writing
 * to the same file. A few lines may be lost between the two.
 */
export function shorten(path: string, bytes_max = bytesMax): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= bytes_max) return;
  try {
    copyFileSync(path, `${path}.1`);
  } catch {
    // Most likely the disk is full: the space matters more than the log.
    rmSync(`${path}.1`, { force: true });
  }
  truncateSync(path);
}

/** Keeps the log of a program short until it has ended; returns the program. */
export function keepShort(child: ChildProcess, { path }: LogFile): ChildProcess {
  const timer = setInterval(() => {
    try {
      shorten(path);
    } catch {
      // The folder may be gone, or the disk unavailable; the next start reports it.
    }
  }, look_ms).unref();
  return child.once('exit', () => clearInterval(timer));
}

/**
 * Opens a log to append to, readable only by this user. A long one is first moved to `<path>.1`.
 */
export function openLogFile(path: string): LogFile {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > bytesMax)
    renameSync(path, `${path}.1`);
  const fd = openSync(path, 'a', 0o600);
  const start = statSync(path).size;
  return {
    path,
    fd,
    read() {
      const reader = openSync(path, 'r');
      try {
        const buffer = Buffer.alloc(tailBytes);
        return buffer.toString('utf8', 0, readSync(reader, buffer, 0, tailBytes, start));
      } finally {
        closeSync(reader);
      }
    },
    close: () => closeSync(fd),
  };
}
