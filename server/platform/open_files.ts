import { readFileSync } from 'node:fs';
import { counted } from './counted.ts';

/** Number of files and connections that a process may need, including the embedded stores. */
export const open_files_wanted = 4096;

const codes = new Set(['EMFILE', 'ENFILE']);
const sentences = /too many open files|out of file descriptors/i;

/** Message for a process or a system that can open no more files, with the needed action. */
export const out_of_files =
  'The server cannot open more files or connections: its limit of open files is reached. Raise ' +
  `the limit to ${open_files_wanted} or more (\`ulimit -n\`, LimitNOFILE of systemd, \`--ulimit ` +
  'nofile` of Docker), then restart the server.';

/** Returns true if this process or a store failed because it cannot open another file. */
export function isOutOfFiles(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, stderr } = error as { code?: unknown; stderr?: unknown };
  return (
    codes.has(String(code)) ||
    sentences.test(`${error.message} ${String(stderr)}`) ||
    (error instanceof AggregateError && error.errors.some(isOutOfFiles)) ||
    isOutOfFiles(error.cause)
  );
}

/**
 * Returns the number of files that a process may have open, or undefined if the system does not
 * report it.
 */
export function openFilesLimit(pid: number | 'self' = 'self'): number | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * Returns a warning with the needed action for a low limit; undefined if it is high enough or
 * unknown.
 */
export function fewFiles(limit: number | undefined): string | undefined {
  if (limit === undefined || limit >= open_files_wanted) return undefined;
  return (
    `only ${counted(limit, 'file')} or connections may be open at once, and under load the ` +
    `server needs up to ${open_files_wanted}. Raise the limit (\`ulimit -n\`, LimitNOFILE of ` +
    `systemd, ` +
    '`--ulimit nofile` of Docker), then restart the server.'
  );
}
