/** A file that a table names cannot be read; the message is a sentence. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}

/**
 * The files of a table in our own catalog, by their URIs. Guarantee: nothing outside of the place
 * of its export is read, written or removed. Errors are explained.
 */
export type TableFiles = {
  /** The URI of the place, with a slash at its end. */
  root: string;
  /** The content, or undefined if there is no such file. */
  read(uri: string): Promise<Buffer | undefined>;
  /** Writes a file whole and returns once it is safe. */
  put(uri: string, content: Buffer | string): Promise<void>;
  /** Removes a file; one that is gone already is no error. */
  remove(uri: string): Promise<void>;
  /** The files below a folder, in no order. */
  list(folder: string): AsyncIterable<string>;
  /** The instant of the last write in milliseconds, or undefined if there is no such file. */
  writtenAt(uri: string): Promise<number | undefined>;
};
