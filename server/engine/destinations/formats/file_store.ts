import type { Readable } from 'node:stream';
import { readBounded } from '../../../platform/read_bounded.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { KnownError } from '../../model/destination/errors.ts';

/**
 * The operations of a place with files or objects that a comparison needs; names have `/` between
 * folders.
 */
export type FileStore = {
  /** The content, or undefined when there is nothing of this name. Other faults are thrown. */
  read(name: string): Promise<Readable | undefined>;
  /**
   * Names of the visible files directly in a folder, complete names, in any order. A missing folder
   * is empty.
   */
  list(folder: string): AsyncIterable<string>;
  /**
   * The files directly in a folder, those behind the name `after` and maybe others: many with one
   * request. Left out where `describe` costs none.
   */
  listFacts?(folder: string, after: string): AsyncIterable<FileFacts & { name: string }>;
  /** Tells a file without reading it, or undefined when there is nothing of this name. */
  describe(name: string): Promise<FileFacts | undefined>;
};

/** The facts that a place tells of a file without its content: `tag` changes with each write. */
export type FileFacts = { bytes: number; tag: string; mark?: string | undefined };

const receipt_bytes_max = 64 * 1024 * 1024;

// All other known faults are of the place as a whole.
const faults_of_one = new Set(['permission_denied', 'request_refused', 'store_fault']);

/**
 * A fault while reading is a difference of its own and does not end the comparison, but for one
 * with which nothing can be read, such as a store that is away: that is thrown.
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
 * A small text of a store, such as a receipt, or undefined when there is none. Throws when it is
 * larger than 64 MiB.
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
