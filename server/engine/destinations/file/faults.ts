import { explain, lasting, passing, withFaults } from '../../model/destination/faults.ts';
import type { Fault } from '../../model/destination/faults.ts';

const not_writable = lasting(
  'permission_denied',
  'The server may not write to this folder of its export folder. Give its user write permission.',
);
const full = passing(
  'disk_full',
  'The disk of the export folder is full; free some space. The run continues automatically.',
);
const bad_path = lasting(
  'invalid_path',
  'The prefix cannot be a folder here: a part of it is too long or is a file. Choose another ' +
    'prefix.',
);

const faults: Record<string, Fault> = {
  EACCES: not_writable,
  EPERM: not_writable,
  EROFS: not_writable,
  ENOSPC: full,
  EDQUOT: full,
  ENAMETOOLONG: bad_path,
  ENOTDIR: bad_path,
  EISDIR: bad_path,
};

/**
 * Translates a fault of the file system into an error that says what to do; others stay unchanged.
 */
export function fileError(error: unknown): unknown {
  return explain(error, ({ code, syscall }: NodeJS.ErrnoException) =>
    typeof syscall === 'string' && code !== undefined ? faults[code] : undefined,
  );
}

/** Runs `work` and throws its errors translated by `fileError`. */
export function withFileErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  return withFaults(fileError, work);
}

/** Returns true for the error of a missing file or folder. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
