import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { listsOf } from '../object_store/object_store.ts';
import type { ListedObject, ObjectStore } from '../object_store/object_store.ts';
import { openGoogleClient } from './client.ts';
import type { GoogleClient } from './client.ts';
import { endpointOf, readServiceAccount } from './config.ts';
import type { GcsConfig } from './config.ts';
import { gcs_faults, unlessMissing, unlessTaken } from './faults.ts';
import { mark_name, openUploads } from './uploads.ts';

/** A client and the parameters of all its calls. */
type Access = { client: GoogleClient; bucket: string; signal: AbortSignal };

/** Opens the bucket of a config with only its own credentials, through the outbound guard. */
export async function openBucket(
  config: GcsConfig,
  outbound: Outbound,
  signal: AbortSignal,
): Promise<ObjectStore> {
  const account = readServiceAccount(config.service_account_json);
  if (typeof account === 'string') throw new NonRetryableError('authentication_failed', account);
  const client = await openGoogleClient(endpointOf(config), account, outbound, signal);
  const access: Access = { client, bucket: config.bucket_name, signal };
  return {
    faults: gcs_faults,
    ...objectsOf(access),
    ...openUploads(client, config.bucket_name, signal),
  };
}

/** Objects by Google's JSON API. */
type Objects = Pick<
  ObjectStore,
  'find' | 'put' | 'putNew' | 'read' | 'describe' | 'remove' | 'list' | 'listFacts'
>;

function objectsOf(access: Access): Objects {
  const { client, bucket, signal } = access;
  const objects = `/storage/v1/b/${bucket}/o`;
  const pathOf = (key: string) => `${objects}/${encodeURIComponent(key)}`;
  const put = async (key: string, content: Buffer | string, only = '') => {
    const path = `/upload${objects}?uploadType=media&name=${encodeURIComponent(key)}${only}`;
    await client.text({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: content,
      signal,
    });
  };
  return {
    // Not the bucket's own record: the roles for objects may list, but not read that.
    find: async () =>
      void (await client.text({ method: 'GET', path: `${objects}?maxResults=1`, signal })),
    put: (key, content) => put(key, content),
    putNew: (key, content) => unlessTaken(() => put(key, content, '&ifGenerationMatch=0')),
    read: (key) =>
      unlessMissing(() =>
        client.stream({ method: 'GET', path: `${pathOf(key)}?alt=media`, signal }),
      ),
    describe: (key) =>
      unlessMissing(async () => {
        const { text } = await client.text({
          method: 'GET',
          path: `${pathOf(key)}?fields=size,metadata,updated,generation`,
          signal,
        });
        const { size, metadata, updated, generation } = JSON.parse(text) as {
          size?: string;
          updated?: string;
          generation?: string;
          metadata?: Record<string, string>;
        };
        return {
          bytes: Number(size),
          mark: metadata?.[mark_name],
          written_at_ms: Date.parse(updated ?? ''),
          tag: `${generation}`,
        };
      }),
    remove: async (key) =>
      void (await unlessMissing(() =>
        client.text({ method: 'DELETE', path: pathOf(key), signal }),
      )),
    ...listsOf((prefix, { direct, after }) =>
      listNames(access, objects, {
        prefix,
        ...(direct ? { delimiter: '/' } : {}),
        ...(after === undefined ? {} : { startOffset: after }),
      }),
    ),
  };
}

const fields = 'nextPageToken,items(name,size,generation,metadata)';

async function* listNames(
  { client, signal }: Access,
  path: string,
  query: Record<string, string>,
): AsyncIterable<ListedObject> {
  let page: Record<string, string> | undefined = {};
  while (page !== undefined) {
    const { text } = await client.text({
      method: 'GET',
      path: `${path}?${new URLSearchParams({ fields, ...query, ...page }).toString()}`,
      signal,
    });
    const { items, nextPageToken } = JSON.parse(text) as {
      items?: {
        name: string;
        size?: string;
        generation?: string;
        metadata?: Record<string, string>;
      }[];
      nextPageToken?: string;
    };
    for (const { name, size, generation, metadata } of items ?? [])
      yield { name, bytes: Number(size), tag: `${generation}`, mark: metadata?.[mark_name] };
    page = nextPageToken === undefined ? undefined : { pageToken: nextPageToken };
  }
}
