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

const bytesMax = 16 * 1024 * 1024;
const tailBytes = 64 * 1024;

/** The open log of a program, to be given to it as its output. */
export type LogFile = {
  fd: number;
  /** What was written since it was opened here (the first 64 KB). */
  read(): string;
  close(): void;
};

/**
 * Sets the log of a running program aside under `<path>.1` whenever it has become long, and empties
 * it: what the program appends goes on at its new end. A few lines may be lost between the two.
 * `stop` ends it.
 */
export function keepShort(path: string, interval_ms = 60_000): { stop(): void } {
  const timer = setInterval(() => {
    try {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return;
      copyFileSync(path, `${path}.1`);
      truncateSync(path);
    } catch {
      // A full disk, most likely: without room for the copy the log itself is the first to go.
      rmSync(`${path}.1`, { force: true });
    }
  }, interval_ms).unref();
  return { stop: () => clearInterval(timer) };
}

/**
 * Opens a log to append to, readable by us alone. A long one is set aside under `<path>.1` first.
 */
export function openLogFile(path: string): LogFile {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > bytesMax)
    renameSync(path, `${path}.1`);
  const fd = openSync(path, 'a', 0o600);
  const start = statSync(path).size;
  return {
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
