import { addAbortSignal } from 'node:stream';
import type { Readable } from 'node:stream';
import type {
  BlobItem,
  BlockBlobClient,
  ContainerClient,
  RequestPolicyFactory,
} from '@azure/storage-blob';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { requirePackage } from '../../model/destination/optional_package.ts';
import {
  listsOf,
  partTimeout,
  request_attempts_max,
  request_timeout_milliseconds,
} from '../object_store/object_store.ts';
import type { ListedObject, ObjectStore, OpenUpload } from '../object_store/object_store.ts';
import { accessOf } from './config.ts';
import type { AzureBlobConfig } from './config.ts';
import { azureblob_faults, isNamed } from './faults.ts';

// Azure only accepts letters, digits and underscores here.
const mark_name = 'sluice_upload';
const retry_delay_milliseconds = 200;
const retry_delay_milliseconds_max = 5_000;

/** A client and the options of all its calls. */
type Access = { container: ContainerClient; options: { abortSignal: AbortSignal } };

/**
 * Opens the container of a config with only its own credentials, through the outbound guard. The
 * SDK tries each request three times, each try in bounded time. An upload consists of the blocks
 * whose ids begin with its id: Azure hides uncommitted blocks, and discards them a week after the
 * last one.
 */
export async function openContainer(
  config: AzureBlobConfig,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<ObjectStore> {
  const access = {
    container: await openClient(config, outbound),
    options: { abortSignal: signal },
  };
  return { faults: azureblob_faults, ...objectsOf(access), ...uploadsOf(access) };
}

async function openClient(config: AzureBlobConfig, outbound: Outbound): Promise<ContainerClient> {
  requirePackage('@azure/storage-blob');
  const { AnonymousCredential, ContainerClient, StorageSharedKeyCredential, newPipeline } =
    await import('@azure/storage-blob');
  const { endpoint, account, sas } = accessOf(config);
  const credential =
    account === undefined
      ? new AnonymousCredential()
      : new StorageSharedKeyCredential(account.name, account.key);
  const pipeline = newPipeline(credential, {
    retryOptions: {
      maxTries: request_attempts_max,
      retryDelayInMs: retry_delay_milliseconds,
      maxRetryDelayInMs: retry_delay_milliseconds_max,
    },
  });
  pipeline.factories.push(throughGuard(outbound));
  return new ContainerClient(
    `${endpoint}/${config.container_name}${sas === undefined ? '' : `?${sas.replace(/^\?/, '')}`}`,
    pipeline,
  );
}

/** Sends each request through the guard's agents, with a time limit for its body. */
function throughGuard(outbound: Outbound): RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest: (request) => {
        request.agent = request.url.startsWith('https:')
          ? outbound.agents.https
          : outbound.agents.http;
        request.timeout = Buffer.isBuffer(request.body)
          ? partTimeout(request.body.length)
          : request_timeout_milliseconds;
        return next.sendRequest(request);
      },
    }),
  };
}

function objectsOf(
  access: Access,
): Pick<
  ObjectStore,
  'find' | 'put' | 'putNew' | 'read' | 'describe' | 'remove' | 'list' | 'listFacts'
> {
  const { container, options } = access;
  const put = async (key: string, content: Buffer | string, conditions = {}) => {
    const headers = { blobContentType: 'application/json' };
    await container.getBlockBlobClient(key).upload(content, Buffer.byteLength(content), {
      ...options,
      conditions,
      blobHTTPHeaders: headers,
    });
  };
  return {
    // Not the container's properties: signatures for a container may list, but not read these.
    find: async () =>
      void (await container.listBlobsFlat(options).byPage({ maxPageSize: 1 }).next()),
    put: (key, content) => put(key, content),
    putNew: async (key, content) => {
      try {
        await put(key, content, { ifNoneMatch: '*' });
        return true;
      } catch (error) {
        if (isNamed(error, 'BlobAlreadyExists', 'ConditionNotMet')) return false;
        throw error;
      }
    },
    read: (key) =>
      orUndefined(async () => {
        const { readableStreamBody } = await container
          .getBlockBlobClient(key)
          .download(0, undefined, options);
        return addAbortSignal(options.abortSignal, readableStreamBody as Readable);
      }),
    describe: (key) =>
      orUndefined(async () => {
        const found = await container.getBlockBlobClient(key).getProperties(options);
        return {
          bytes: found.contentLength ?? 0,
          mark: found.metadata?.[mark_name],
          written_at_ms: found.lastModified?.getTime() ?? Number.NaN,
          tag: quotedTag(found.etag),
        };
      }),
    remove: async (key) =>
      void (await orUndefined(() => container.getBlockBlobClient(key).delete(options))),
    ...listsOf((prefix, { direct }) => listBlobs(access, prefix, direct)),
  };
}

/** Lists return a tag without the quotes of its header. */
const quotedTag = (etag: string | undefined) => `"${`${etag}`.replaceAll('"', '')}"`;

function factsOf({
  name,
  properties,
  metadata,
}: Pick<BlobItem, 'name' | 'properties' | 'metadata'>): ListedObject {
  const bytes = properties.contentLength ?? 0;
  return { name, bytes, tag: quotedTag(properties.etag), mark: metadata?.[mark_name] };
}

async function* listBlobs(
  { container, options }: Access,
  prefix: string,
  direct: boolean,
): AsyncIterable<ListedObject> {
  const asked = { ...options, prefix, includeMetadata: true };
  if (!direct) {
    for await (const blob of container.listBlobsFlat(asked)) yield factsOf(blob);
    return;
  }
  for await (const item of container.listBlobsByHierarchy('/', asked))
    if (item.kind === 'blob') yield factsOf(item);
}

function uploadsOf(
  access: Access,
): Pick<
  ObjectStore,
  'startUpload' | 'uploadPart' | 'completeUpload' | 'endUpload' | 'endUploads' | 'listParts'
> {
  const { container, options } = access;
  return {
    startUpload: async (_key, { mark }) => mark,
    uploadPart: async (key, uploadId, number, bytes, signal) => {
      const etag = blockId(uploadId, number);
      await container.getBlockBlobClient(key).stageBlock(etag, bytes, bytes.length, {
        abortSignal: AbortSignal.any([options.abortSignal, signal]),
      });
      return { number, etag };
    },
    completeUpload: async (key, _uploadId, parts, { mark, content_type }) => {
      const ids = parts.map((part) => part.etag);
      const kept = {
        blobHTTPHeaders: { blobContentType: content_type },
        metadata: { [mark_name]: mark },
      };
      try {
        // Azure searches each block among the uncommitted and the committed ones, so a repeat
        // commits the same object again.
        await container.getBlockBlobClient(key).commitBlockList(ids, { ...options, ...kept });
        return true;
      } catch (error) {
        if (isNamed(error, 'InvalidBlockList')) return false;
        throw error;
      }
    },
    // Blocks are only discarded for a whole object, which may have another attempt's: the next
    // commit of the object discards them, or `endUploads`.
    endUpload: async () => undefined,
    endUploads: (prefix, kept, isOurs) => discardUnseen(access, prefix, kept, isOurs),
    listParts: (key, uploadId) => listBlocks(container.getBlockBlobClient(key), uploadId, options),
  };
}

/** Ids of one object must have the same length. */
function blockId(uploadId: string, number: number): string {
  return Buffer.from(`${uploadId}-${String(number).padStart(5, '0')}`).toString('base64');
}

async function listBlocks(
  blob: BlockBlobClient,
  uploadId: string,
  options: Access['options'],
): Promise<{ number: number; etag: string; bytes: number }[] | undefined> {
  const found = await orUndefined(() => blob.getBlockList('uncommitted', options));
  const blocks = (found?.uncommittedBlocks ?? []).flatMap(({ name, size }) => {
    const id = Buffer.from(name, 'base64').toString();
    return id.startsWith(`${uploadId}-`)
      ? [{ number: Number(id.slice(uploadId.length + 1)), etag: name, bytes: size }]
      : [];
  });
  return blocks.length === 0 ? undefined : blocks;
}

/**
 * Asks Azure to drop objects that only have uncommitted blocks. Objects that are visible by now
 * stay: the visible names are listed last. If Azure reports a missing object, it has discarded the
 * blocks itself.
 */
async function discardUnseen(
  { container, options }: Access,
  prefix: string,
  kept: readonly OpenUpload[],
  isOurs: (key: string) => boolean = () => true,
): Promise<void> {
  const unseen = new Set<string>();
  for await (const { name } of container.listBlobsFlat({
    ...options,
    prefix,
    includeUncommitedBlobs: true,
  }))
    if (isOurs(name)) unseen.add(name);
  for await (const { name } of container.listBlobsFlat({ ...options, prefix })) unseen.delete(name);
  for (const { key } of kept) unseen.delete(key);
  for (const name of unseen)
    await orUndefined(() => container.getBlockBlobClient(name).delete(options));
}

async function orUndefined<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isNamed(error, 'BlobNotFound')) return undefined;
    throw error;
  }
}
