import type { Readable } from 'node:stream';

/** A stored part of an upload; `etag` is the store's own identifier of the part. */
export type Part = { number: number; etag: string };

/** An upload by its identifiers in the store. */
export type OpenUpload = { key: string; upload_id: string };

/**
 * Facts that a store keeps with an object: `mark` is ours and proves that a completed object
 * belongs to this very upload. It is empty for a table bucket.
 */
export type UploadFacts = { mark: string; content_type: string };

/** Rules for reading a store's errors. */
export type StoreFaults = {
  /**
   * Translates a fault of the store or its connection into an error that says what to do; every
   * other error (mostly the source's) is returned unchanged.
   */
  explain(error: unknown): unknown;
  /**
   * Returns true if the key has no right to the request or the store does not support it: a
   * delivery does not depend on reads back and clean-up.
   */
  isUnavailable(error: unknown): boolean;
};

/**
 * The operations of a destination of objects in one bucket or container. Errors are the client's
 * own until `faults` has translated them; every call, and the stream of `read`, ends when the
 * store's signal aborts. Guarantee: an upload stays invisible until it is completed.
 */
export type ObjectStore = {
  /**
   * True for a bucket that only accepts files of Iceberg: it keeps neither receipts nor marks, and
   * lists and removes nothing, because its service removes the files that no table names.
   */
  is_table_bucket?: boolean | undefined;
  faults: StoreFaults;
  /** Throws if the bucket does not exist, or if the key may not list it. */
  find(): Promise<void>;
  /** Writes a small object in one step, over an older one. */
  put(key: string, content: Buffer | string): Promise<void>;
  /**
   * Writes a small object in one step unless the name exists: then it returns false. A repeat of a
   * request with a lost answer may find its own object.
   */
  putNew(key: string, content: Buffer | string): Promise<boolean>;
  /** Returns the object's content, or undefined if it does not exist. */
  read(key: string): Promise<Readable | undefined>;
  /**
   * Returns the size in bytes, our own mark, the instant of the last write in milliseconds and the
   * store's tag of the content. Returns undefined if the object does not exist.
   */
  describe(
    key: string,
  ): Promise<
    { bytes: number; mark: string | undefined; written_at_ms: number; tag: string } | undefined
  >;
  /** Removes an object. A missing object is no error. */
  remove(key: string): Promise<void>;
  /**
   * Lists the keys of visible objects with this prefix; with `direct`, only those without a further
   * slash; with `after`, those after this key, and possibly others.
   */
  list(prefix: string, options: ListOptions): AsyncIterable<string>;
  /**
   * Lists the same objects, with the list's facts about each: the tag equals that of `describe`.
   */
  listFacts(prefix: string, options: ListOptions): AsyncIterable<ListedObject>;
  /** Returns the upload's id. */
  startUpload(key: string, facts: UploadFacts): Promise<string>;
  /**
   * Makes one part safe; parts may be sent in any order and in parallel. Ends with `signal` too.
   * Once it has succeeded, the caller may reuse `bytes`.
   */
  uploadPart(
    key: string,
    uploadId: string,
    number: number,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<Part>;
  /**
   * Shows the object at once. False if the upload does not exist, because it was completed before
   * or is gone.
   */
  completeUpload(
    key: string,
    uploadId: string,
    parts: Part[],
    facts: UploadFacts,
  ): Promise<boolean>;
  /**
   * Ends an upload. A missing upload is no error. `signal` replaces the store's, for clean-up after
   * a stop.
   */
  endUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void>;
  /**
   * Ends the open uploads with this prefix for which `isOurs` returns true, of any attempt, except
   * those to keep.
   */
  endUploads(
    prefix: string,
    kept: readonly OpenUpload[],
    isOurs?: (key: string) => boolean,
  ): Promise<void>;
  /** Lists the stored parts with their sizes, or returns undefined if the upload is gone. */
  listParts(key: string, uploadId: string): Promise<(Part & { bytes: number })[] | undefined>;
};

/** An object in a list, with its mark if the list has it, or else the ETag of its contents. */
export type ListedObject = {
  name: string;
  bytes: number;
  tag: string;
  mark?: string | undefined;
  etag?: string | undefined;
};

/** The requested part of a list. */
export type ListOptions = { direct: boolean; after?: string };

/** Returns both ways to list, from a list with facts. */
export function listsOf(
  listFacts: ObjectStore['listFacts'],
): Pick<ObjectStore, 'list' | 'listFacts'> {
  return {
    listFacts,
    list: async function* (prefix, options) {
      for await (const { name } of listFacts(prefix, options)) yield name;
    },
  };
}

/** Returns the store with progress reports for its answers (`DestinationDeps.noteProgress`). */
export function notingProgress(
  store: ObjectStore,
  noteProgress: () => void = () => undefined,
): ObjectStore {
  const noted = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work;
    noteProgress();
    return result;
  };
  return {
    ...store,
    put: (key, content) => noted(store.put(key, content)),
    putNew: (key, content) => noted(store.putNew(key, content)),
    describe: (key) => noted(store.describe(key)),
    remove: (key) => noted(store.remove(key)),
    startUpload: (key, facts) => noted(store.startUpload(key, facts)),
    uploadPart: (key, uploadId, number, bytes, signal) =>
      noted(store.uploadPart(key, uploadId, number, bytes, signal)),
    completeUpload: (key, uploadId, parts, facts) =>
      noted(store.completeUpload(key, uploadId, parts, facts)),
    listParts: (key, uploadId) => noted(store.listParts(key, uploadId)),
  };
}

/** Number of tries of a request before its fault fails the run. */
export const request_attempts_max = 3;

/** Time limit of a request without a part. */
export const request_timeout_milliseconds = 120_000;

/**
 * Returns the time limit of a part of this size: half a minute, and a second for each 100 kB, so
 * that a slow line is no fault.
 */
export function partTimeout(bytes: number): number {
  return 30_000 + Math.ceil(bytes / 100);
}
