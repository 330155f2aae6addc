import type { Readable } from 'node:stream';

/** A part of an upload that the store has; `etag` is what the store itself knows the part by. */
export type Part = { number: number; etag: string };

/** An upload by the names that a store knows it by. */
export type OpenUpload = { key: string; upload_id: string };

/**
 * Facts that a store keeps with an object: `mark` is ours and proves that a completed object
 * belongs to this very upload.
 */
export type UploadFacts = { mark: string; content_type: string };

/** Rules for reading a store's errors. */
export type StoreFaults = {
  /**
   * A fault of the store or of the way to it as an error that says what to do; every other error,
   * above all the source's, is given back as it is.
   */
  explain(error: unknown): unknown;
  /**
   * True when the key has no right to the request or the store does not know it: nothing that a
   * delivery depends on, where it only looks back or tidies up.
   */
  isUnavailable(error: unknown): boolean;
};

/**
 * The operations of a destination of objects in one bucket or container. Errors are the client's
 * own until `faults` has explained them; every call, and the stream of `read`, ends when the signal
 * is aborted with which the store was opened. Guarantee: an upload stays invisible until it is
 * completed.
 */
export type ObjectStore = {
  faults: StoreFaults;
  /** Throws when there is no such bucket, or when the key may not look into it. */
  find(): Promise<void>;
  /** Writes a small object in one step, over an older one. */
  put(key: string, content: Buffer | string): Promise<void>;
  /**
   * Writes a small object in one step unless there is one of this name: then it gives false. A
   * repeat of a request whose answer was lost may find its own object.
   */
  putNew(key: string, content: Buffer | string): Promise<boolean>;
  /** The object's content, or undefined when there is none. */
  read(key: string): Promise<Readable | undefined>;
  /**
   * Size in bytes, our own mark, the instant of the last write in milliseconds and the tag that the
   * store gives each content, or undefined when there is no such object.
   */
  describe(
    key: string,
  ): Promise<
    { bytes: number; mark: string | undefined; written_at_ms: number; tag: string } | undefined
  >;
  /** Removes an object; one that is gone already is no error. */
  remove(key: string): Promise<void>;
  /**
   * Keys of visible objects that begin so; with `direct`, only those without a further slash; with
   * `after`, those behind this key, and maybe others.
   */
  list(prefix: string, options: ListOptions): AsyncIterable<string>;
  /** The same objects, with what the list tells of each: the tag is the one of `describe`. */
  listFacts(prefix: string, options: ListOptions): AsyncIterable<ListedObject>;
  /** Gives the upload's id. */
  startUpload(key: string, facts: UploadFacts): Promise<string>;
  /**
   * Makes one part safe; parts may be sent in any order and beside each other. Ends with `signal`
   * too. Once it has ended well, `bytes` are the caller's again.
   */
  uploadPart(
    key: string,
    uploadId: string,
    number: number,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<Part>;
  /**
   * Shows the object at once. False when there is no such upload, because it was completed before
   * or is gone.
   */
  completeUpload(
    key: string,
    uploadId: string,
    parts: Part[],
    facts: UploadFacts,
  ): Promise<boolean>;
  /**
   * Ends an upload; one that is gone already is no error. `signal` counts instead of the store's,
   * for what has to be tidied up after a stop.
   */
  endUpload(key: string, uploadId: string, signal: AbortSignal): Promise<void>;
  /**
   * Ends the open uploads of keys that begin so, and that `isOurs` is true for, whoever started
   * them, but for the kept ones.
   */
  endUploads(
    prefix: string,
    kept: readonly OpenUpload[],
    isOurs?: (key: string) => boolean,
  ): Promise<void>;
  /** The parts that the store holds, with their sizes, or undefined when the upload is gone. */
  listParts(key: string, uploadId: string): Promise<(Part & { bytes: number })[] | undefined>;
};

/** An object as a list names it. */
export type ListedObject = { name: string; bytes: number; tag: string };

/** The part of a list that is wanted. */
export type ListOptions = { direct: boolean; after?: string };

/** Both ways to list, of a way to list with facts. */
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

/** The store, whose answers are progress (`DestinationDeps.noteProgress`). */
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

/** Number of tries of a request before its fault is the run's. */
export const request_attempts_max = 3;

/** Time limit of a request that carries no part. */
export const request_timeout_milliseconds = 120_000;

/**
 * Returns the time limit of a part of this size: half a minute, and a second for each 100 kB, so
 * that a slow line is no fault.
 */
export function partTimeout(bytes: number): number {
  return 30_000 + Math.ceil(bytes / 100);
}
