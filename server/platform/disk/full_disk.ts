import { statfs } from 'node:fs/promises';

/** The codes of Node, PostgreSQL and ClickHouse. */
const codes = new Set(['ENOSPC', 'EDQUOT', '53100', '243']);
const sentences = /No space left on device|Disk quota exceeded/;

/** Returns true if this process or a store failed because a disk is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, stderr } = error as { code?: unknown; stderr?: unknown };
  return (
    codes.has(String(code)) ||
    sentences.test(`${error.message} ${String(stderr)}`) ||
    isDiskFull(error.cause)
  );
}

/** Returns the free bytes of the folder's disk, or undefined if they cannot be determined. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
