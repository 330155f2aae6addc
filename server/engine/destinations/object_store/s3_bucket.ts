import { addAbortSignal } from 'node:stream';
import type { Readable } from 'node:stream';
import type * as Sdk from '@aws-sdk/client-s3';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { strangeAnswerError } from './faults.ts';
import { listsOf, partTimeout } from './object_store.ts';
import type { ListedObject, ObjectStore, OpenUpload } from './object_store.ts';
import { digestSender, encryptionOf, openClient, sdk } from './s3_client.ts';
import type { S3Place } from './s3_place.ts';
import { isMissing, s3FaultsOf, unlessTaken } from './s3_faults.ts';
import { endUploadsBut } from './upload.ts';

const mark_name = 'sluice-upload';

/** A client, the options of all its calls, and a sender with the bucket's required headers. */
type Access = {
  client: Sdk.S3Client;
  place: S3Place;
  options: { abortSignal: AbortSignal };
  withDigest: ReturnType<typeof digestSender>;
};

/** `openUploads`: those with this prefix, of any attempt. */
type Bucket = ObjectStore & { openUploads(prefix: string): AsyncIterable<OpenUpload> };

/** Opens a bucket through the outbound guard. The SDK tries each request three times. */
export function openBucket(place: S3Place, outbound: Outbound, signal: AbortSignal): Bucket {
  const access = {
    client: openClient(place, outbound),
    place,
    options: { abortSignal: signal },
    withDigest: digestSender(),
  };
  const openUploads = (prefix: string) =>
    listUploads(access, { Bucket: place.bucket_name, Prefix: prefix });
  const { is_table_bucket } = place;
  return {
    faults: s3FaultsOf(place),
    ...objectsOf(access),
    ...uploadsOf(access),
    openUploads,
    ...(is_table_bucket === true ? limits_of_table_buckets : {}),
  };
}

const none = async function* () {};
/** The operations that table buckets refuse. */
const limits_of_table_buckets = {
  is_table_bucket: true,
  find: async () => undefined,
  remove: async () => undefined,
  list: none,
  listFacts: none,
};

function objectsOf(
  access: Access,
): Pick<
  ObjectStore,
  'find' | 'put' | 'putNew' | 'read' | 'describe' | 'remove' | 'list' | 'listFacts'
> {
  const { client, place, options, withDigest } = access;
  const at = { Bucket: place.bucket_name };
  const encryption = encryptionOf(place);
  const put = async (key: string, content: Buffer | string, only: { IfNoneMatch?: '*' } = {}) =>
    void (await withDigest(content, (digest) =>
      client.send(
        new (sdk().PutObjectCommand)({
          ...at,
          ...encryption,
          ...digest,
          ...only,
          Key: key,
          Body: content,
          ContentType: 'application/json',
        }),
        options,
      ),
    ));
  return {
    find: async () => void (await client.send(new (sdk().HeadBucketCommand)(at), options)),
    put: (key, content) => put(key, content),
    putNew: (key, content) => unlessTaken(() => put(key, content, { IfNoneMatch: '*' })),
    read: (key) =>
      orUndefined(async () => {
        const { Body } = await client.send(
          new (sdk().GetObjectCommand)({ ...at, Key: key }),
          options,
        );
        return addAbortSignal(options.abortSignal, Body as Readable);
      }),
    describe: (key) =>
      orUndefined(async () => {
        const head = await client.send(new (sdk().HeadObjectCommand)({ ...at, Key: key }), options);
        return {
          bytes: head.ContentLength ?? 0,
          mark: head.Metadata?.[mark_name],
          written_at_ms: head.LastModified?.getTime() ?? Number.NaN,
          tag: tagOf(head.ETag, head.LastModified),
        };
      }),
    remove: async (key) =>
      void (await client.send(new (sdk().DeleteObjectCommand)({ ...at, Key: key }), options)),
    ...listsOf((prefix, { direct, after }) =>
      listKeys(access, {
        ...at,
        Prefix: prefix,
        ...(direct ? { Delimiter: '/' } : {}),
        ...(after === undefined ? {} : { StartAfter: after }),
      }),
    ),
  };
}

function uploadsOf(
  access: Access,
): Pick<
  ObjectStore,
  'startUpload' | 'uploadPart' | 'completeUpload' | 'endUpload' | 'endUploads' | 'listParts'
> {
  const { client, place, options } = access;
  const at = { Bucket: place.bucket_name };
  const encryption = encryptionOf(place);
  return {
    startUpload: async (key, { mark, content_type }) => {
      const started = await client.send(
        new (sdk().CreateMultipartUploadCommand)({
          ...at,
          ...encryption,
          Key: key,
          ...(mark === '' ? {} : { Metadata: { [mark_name]: mark } }),
          ContentType: content_type,
        }),
        options,
      );
      if (started.UploadId === undefined) throw strangeAnswerError('name to an upload');
      return started.UploadId;
    },
    uploadPart: (...part) => uploadPart(access, ...part),
    completeUpload: async (key, uploadId, parts) => {
      const MultipartUpload = {
        Parts: parts.map((part) => ({ PartNumber: part.number, ETag: part.etag })),
      };
      const completed = await orUndefined(() =>
        client.send(
          new (sdk().CompleteMultipartUploadCommand)({
            ...at,
            Key: key,
            UploadId: uploadId,
            MultipartUpload,
          }),
          options,
        ),
      );
      return completed !== undefined;
    },
    endUpload: (key, uploadId, signal) => endUpload(access, key, uploadId, signal),
    endUploads: (prefix, kept, isOurs) =>
      endUploadsBut(
        kept,
        listUploads(access, { ...at, Prefix: prefix }),
        (key, uploadId) => endUpload(access, key, uploadId, options.abortSignal),
        isOurs,
      ),
    listParts: (key, uploadId) =>
      orUndefined(() => listParts(access, { ...at, Key: key, UploadId: uploadId })),
  };
}

async function uploadPart(
  { client, place, options, withDigest }: Access,
  ...[key, uploadId, number, bytes, signal]: Parameters<ObjectStore['uploadPart']>
): ReturnType<ObjectStore['uploadPart']> {
  const sent = await withDigest(bytes, (digest) =>
    client.send(
      new (sdk().UploadPartCommand)({
        ...digest,
        Bucket: place.bucket_name,
        Key: key,
        UploadId: uploadId,
        PartNumber: number,
        Body: bytes,
        ContentLength: bytes.length,
      }),
      {
        abortSignal: AbortSignal.any([options.abortSignal, signal]),
        requestTimeout: partTimeout(bytes.length),
      },
    ),
  );
  return { number, etag: sent.ETag ?? '' };
}

async function endUpload(
  { client, place }: Access,
  key: string,
  uploadId: string,
  abortSignal: AbortSignal,
): Promise<void> {
  await orUndefined(() =>
    client.send(
      new (sdk().AbortMultipartUploadCommand)({
        Bucket: place.bucket_name,
        Key: key,
        UploadId: uploadId,
      }),
      { abortSignal },
    ),
  );
}

async function orUndefined<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** A list has milliseconds, the head of an object whole seconds. */
function tagOf(etag: string | undefined, modified: Date | undefined): string {
  const time = modified?.getTime();
  return `${etag} ${time === undefined ? undefined : time - (time % 1_000)}`;
}

async function* listKeys(
  { client, options }: Access,
  input: { Bucket: string; Prefix: string; Delimiter?: string; StartAfter?: string },
): AsyncIterable<ListedObject> {
  let token: string | undefined;
  do {
    const page = await client.send(
      new (sdk().ListObjectsV2Command)({
        ...input,
        ...(token === undefined ? {} : { ContinuationToken: token }),
      }),
      options,
    );
    for (const { Key, Size = 0, ETag, LastModified } of page.Contents ?? [])
      if (Key !== undefined)
        yield { name: Key, bytes: Size, tag: tagOf(ETag, LastModified), etag: ETag };
    token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
}

async function* listUploads(
  access: Access,
  input: { Bucket: string; Prefix: string },
): AsyncIterable<OpenUpload> {
  let from: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
  while (from !== undefined) {
    const page: Awaited<ReturnType<typeof sendListUploads>> = await sendListUploads(access, {
      ...input,
      ...from,
    });
    for (const { Key, UploadId } of page.Uploads ?? [])
      if (Key !== undefined && UploadId !== undefined) yield { key: Key, upload_id: UploadId };
    from =
      page.IsTruncated === true && page.NextKeyMarker !== undefined
        ? {
            KeyMarker: page.NextKeyMarker,
            ...(page.NextUploadIdMarker === undefined
              ? {}
              : { UploadIdMarker: page.NextUploadIdMarker }),
          }
        : undefined;
  }
}

function sendListUploads(
  { client, options }: Access,
  input: { Bucket: string; Prefix: string; KeyMarker?: string; UploadIdMarker?: string },
) {
  return client.send(new (sdk().ListMultipartUploadsCommand)(input), options);
}

async function listParts(
  { client, options }: Access,
  input: { Bucket: string; Key: string; UploadId: string },
): Promise<{ number: number; etag: string; bytes: number }[]> {
  const parts: { number: number; etag: string; bytes: number }[] = [];
  let marker: string | undefined;
  do {
    const page = await client.send(
      new (sdk().ListPartsCommand)({
        ...input,
        ...(marker === undefined ? {} : { PartNumberMarker: marker }),
      }),
      options,
    );
    for (const part of page.Parts ?? [])
      parts.push({ number: part.PartNumber ?? 0, etag: part.ETag ?? '', bytes: part.Size ?? 0 });
    marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
  } while (marker !== undefined);
  return parts;
}
