import type { KeyObject } from 'node:crypto';

/** An object in a bucket. */
export type StoredObject = {
  bytes: Buffer;
  content_type: string;
  metadata: Record<string, string>;
  updated: string;
};

/** An open upload in parts. */
export type Upload = {
  key: string;
  content_type: string;
  metadata: Record<string, string>;
  parts: Map<number, { bytes: Buffer; etag: string }>;
};

/** The objects in a bucket, and the uploads in progress. */
export type Bucket = { objects: Map<string, StoredObject>; uploads: Map<string, Upload> };

/** The whole state of the server. */
export type Store = {
  buckets: Map<string, Bucket>;
  tokens: Set<string>;
  client_email: string;
  public_key: KeyObject;
};

/** The answer to a request. */
export type Answer = {
  status: number;
  type?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
};

/** Thrown to answer with an error of the store. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** Small, so that a listing has several pages. */
export const page_size = 2;

/** Returns the bucket of the name. Refuses an unknown one. */
export function bucketOf(store: Store, name: string): Bucket {
  const bucket = store.buckets.get(name);
  if (bucket === undefined) throw new Refused(404, 'NoSuchBucket');
  return bucket;
}
