/** Thrown if a file that a table names cannot be read; the message is a sentence. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
}

/**
 * The files of a table in our own catalog, by URI. Guarantee: it reads, writes and removes nothing
 * outside the export's place. Its errors tell the user what to do.
 */
export type TableFiles = {
  /** The URI of the place, with a trailing slash. */
  root: string;
  /** Returns the content, or undefined if the file does not exist. */
  read(uri: string): Promise<Buffer | undefined>;
  /** Writes a file completely and returns once it is safe. */
  put(uri: string, content: Buffer | string): Promise<void>;
  /** Removes a file. A missing file is no error. */
  remove(uri: string): Promise<void>;
  /** Lists the files below a folder, in no order. */
  list(folder: string): AsyncIterable<string>;
  /**
   * Returns the instant of the last write in milliseconds, or undefined if the file does not exist.
   */
  writtenAt(uri: string): Promise<number | undefined>;
};
