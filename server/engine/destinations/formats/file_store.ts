import type { Readable } from 'node:stream';
import { readBounded } from '../../../platform/read_bounded.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { KnownError } from '../../model/destination/errors.ts';

/**
 * The operations of a place with files or objects that a comparison needs; names have `/` between
 * folders.
 */
export type FileStore = {
  /** Returns the content, or undefined if the name does not exist. Throws other faults. */
  read(name: string): Promise<Readable | undefined>;
  /**
   * Lists the visible files directly in a folder by complete name, in any order. A missing folder
   * is empty.
   */
  list(folder: string): AsyncIterable<string>;
  /**
   * Lists the files directly in a folder after the name `after`, and possibly others, many per
   * request. Absent if `describe` is free.
   */
  listFacts?(folder: string, after: string): AsyncIterable<FileFacts & { name: string }>;
  /** Describes a file without reading it, or returns undefined if the name does not exist. */
  describe(name: string): Promise<FileFacts | undefined>;
  /** False if the place keeps no receipts. */
  has_receipts?: boolean;
};

/**
 * A place's facts about a file without its content: `tag` changes with each write. `etag` is only
 * in lists without the mark.
 */
export type FileFacts = {
  bytes: number;
  tag: string;
  mark?: string | undefined;
  etag?: string | undefined;
};

const receipt_bytes_max = 64 * 1024 * 1024;

// All other known faults affect the whole place.
const faults_of_one = new Set(['permission_denied', 'request_refused', 'store_fault']);

/**
 * A fault during reading is a difference and does not end the comparison, unless it prevents all
 * reading, such as an unreachable store: that is thrown.
 */
export async function orUnreadable(
  name: string,
  work: () => Promise<Difference[]>,
): Promise<Difference[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof KnownError && !faults_of_one.has(error.code)) throw error;
    return [
      {
        kind: 'unreadable',
        name,
        detail: error instanceof Error ? error.message : 'It cannot be read.',
      },
    ];
  }
}

/**
 * Reads a small text of a store, such as a receipt, or returns undefined if it does not exist.
 * Throws if it is larger than 64 MiB.
 */
export async function readStoredText(
  store: Pick<FileStore, 'read'>,
  name: string,
): Promise<string | undefined> {
  const content = await store.read(name);
  if (content === undefined) return undefined;
  const bytes = await readBounded(
    content,
    receipt_bytes_max,
    () => new Error('It is too large to be a receipt.'),
  );
  return bytes.toString('utf8');
}
