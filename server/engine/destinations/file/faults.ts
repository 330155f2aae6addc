import { NonRetryableError, RetryableError } from '../../destination/destination.ts';

type Fault = { retryable: boolean; code: string; message: string };

const not_writable: Fault = {
  retryable: false,
  code: 'permission_denied',
  message:
    'The server may not write to this folder of its export folder; give its user the right to.',
};
const full: Fault = {
  retryable: true,
  code: 'disk_full',
  message: 'The disk of the export folder is full; free some space. The run goes on by itself.',
};
const bad_path: Fault = {
  retryable: false,
  code: 'invalid_path',
  message:
    'The prefix cannot be a folder here: a part of it is too long or is a file. Choose another prefix.',
};

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

/** A fault of the file system as an error that says what to do; every other error stays as it is, above all the source's. */
export function fileError(error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const fault = typeof syscall === 'string' && code !== undefined ? faults[code] : undefined;
  if (fault === undefined) return error;
  return new (fault.retryable ? RetryableError : NonRetryableError)(fault.code, fault.message, {
    cause: error,
  });
}

/** Runs `work` and throws what `fileError` makes of its errors. */
export async function withFileErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error);
  }
}

/** True for the error that says that a file or folder is not there. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
