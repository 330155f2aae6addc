import type { Readable } from 'node:stream';
import { KnownError } from '../../../engine/model/destination/errors.ts';
import {
  bucketViolations,
  endpointViolations,
} from '../../../engine/destinations/object_store/config_rules.ts';
import { withStoreFaults } from '../../../engine/destinations/object_store/faults.ts';
import { openBucket } from '../../../engine/destinations/object_store/s3_bucket.ts';
import { uploadWhole } from '../../../engine/destinations/object_store/upload.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import type { ProxySettings } from '../../../platform/outbound/proxy.ts';
import { UserError, WrongUsageError } from '../../user_error.ts';
import type { BackupPlace } from './place.ts';
import { isWrittenName } from './written_names.ts';

const end_milliseconds = 10_000;

/**
 * Opens a bucket as `s3://bucket/prefix?region=eu-central-1&endpoint=https://...`. The environment
 * has the credentials, as for AWS tools. Every address is allowed, because the operator chooses it.
 */
export function openS3Place(address: string, proxies: ProxySettings): BackupPlace {
  const { bucket_name, prefix, region, endpoint_url } = readAddress(address);
  const store = openBucket(
    { bucket_name, region, endpoint_url },
    openOutbound({ allow: ['0.0.0.0/0', '::/0'], proxies }),
    new AbortController().signal,
  );
  const keyOf = (name: string) => `${prefix}${name}`;
  const ask = <Result>(work: () => Promise<Result>) =>
    withStoreFaults(store, work).catch((error: unknown) => {
      throw toldFault(error, bucket_name);
    });
  return {
    name: `s3://${bucket_name}/${prefix}`,
    write: (name, bytes) =>
      ask(() =>
        uploadWhole(store, keyOf(name), bytes, { content_type: 'application/octet-stream' }),
      ),
    read: (name): Promise<Readable | undefined> => ask(() => store.read(keyOf(name))),
    size: (name) => ask(async () => (await store.describe(keyOf(name)))?.bytes),
    list: async function* (folder) {
      const keys = store.list(keyOf(folder), { direct: false })[Symbol.asyncIterator]();
      for (;;) {
        const key = await ask(() => keys.next());
        if (key.done === true) return;
        yield key.value.slice(prefix.length);
      }
    },
    remove: (name) => ask(() => store.remove(keyOf(name))),
    tidy: async () => {
      // Parts of unfinished uploads cost money, but no list shows them as files. If the store
      // cannot list them, or forbids it, the backup is created all the same.
      await endUploads(store, prefix).catch(() => {});
    },
  };
}

async function endUploads(store: ReturnType<typeof openBucket>, prefix: string): Promise<void> {
  const uploads = store.openUploads(prefix);
  for await (const { key, upload_id } of uploads)
    if (isWrittenName(key.slice(prefix.length)))
      await store.endUpload(key, upload_id, AbortSignal.timeout(end_milliseconds));
}

/** Names in the address and the environment for the keys of a config. */
const names: [RegExp, string][] = [
  [/(the key )?\bregion\b(?=[,.]| and)/, '"region" in the address'],
  [/(the key )?\bbucket_name\b/, 'the address'],
  [/(the key )?\bendpoint_url\b/, '"endpoint" in the address'],
  [/\baws_access_key_id\b/, 'AWS_ACCESS_KEY_ID'],
  [/\baws_secret_access_key\b/, 'AWS_SECRET_ACCESS_KEY'],
  [/The config has no access key, and this server finds none/, 'There is no access key'],
];

/** By error code: rights that a backup needs and an export does not. */
const further: Record<string, string> = {
  authentication_failed: ' The other sources of the AWS tools work too.',
  permission_denied:
    ' A backup also needs s3:DeleteObject; a restore only needs s3:GetObject and s3:ListBucket.',
};

/** Returns an error of the bucket for the person at the terminal. */
function toldFault(error: unknown, bucket: string): unknown {
  if (!(error instanceof KnownError)) return error;
  const text = names.reduce((told, [key, name]) => told.replace(key, name), error.message);
  return new UserError(`The bucket "${bucket}": ${text}${further[error.code] ?? ''}`);
}

const options = ['region', 'endpoint'];

function readAddress(address: string) {
  const url = URL.parse(address);
  if (url === null || url.hostname === '')
    throw new WrongUsageError(
      `"${address}" is not the address of a bucket: write s3://bucket/prefix.`,
    );
  const unknown = [...url.searchParams.keys()].find((name) => !options.includes(name));
  if (unknown !== undefined)
    throw new WrongUsageError(
      `An address of a bucket allows "region" and "endpoint" after "?", but not "${unknown}".`,
    );
  if (url.username !== '' || url.port !== '' || url.hash !== '')
    throw new WrongUsageError(
      `"${withoutUser(address)}" has more than a bucket and a prefix. Write the endpoint ` +
        'after "?" as "endpoint", and set the keys in AWS_ACCESS_KEY_ID and ' +
        'AWS_SECRET_ACCESS_KEY.',
    );
  const place = {
    bucket_name: url.hostname,
    region: url.searchParams.get('region') ?? 'us-east-1',
    endpoint_url: url.searchParams.get('endpoint'),
  };
  const [wrong] = [
    ...endpointViolations(place.endpoint_url ?? undefined),
    ...bucketViolations(place),
  ];
  if (wrong !== undefined) throw new WrongUsageError(wrong.detail);
  const folder = url.pathname.split('/').filter((part) => part !== '');
  try {
    return { ...place, prefix: folder.map((part) => `${decodeURIComponent(part)}/`).join('') };
  } catch {
    throw new WrongUsageError(`"${address}": write a % of the prefix as %25.`);
  }
}

/** People may have written their keys there. */
function withoutUser(address: string): string {
  return address.replace(/\/\/[^/?#]*@/, '//');
}
