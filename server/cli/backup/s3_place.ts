import type { Readable } from 'node:stream';
import { withStoreFaults } from '../../engine/object_store/faults.ts';
import { openBucket } from '../../engine/object_store/s3_bucket.ts';
import { uploadWhole } from '../../engine/object_store/upload.ts';
import { openOutbound } from '../../platform/outbound/outbound.ts';
import { UserError } from '../user_error.ts';
import type { BackupPlace } from './place.ts';

/**
 * A bucket as `s3://bucket/prefix?region=eu-central-1&endpoint=https://...`. Whoever runs the
 * command has the credentials in the environment, as the AWS tools take them, and says where to
 * connect to: no address is refused.
 */
export function openS3Place(address: string): BackupPlace {
  const { bucket_name, prefix, region, endpoint_url } = readAddress(address);
  const store = openBucket(
    { bucket_name, region, endpoint_url },
    openOutbound({ allow: ['0.0.0.0/0', '::/0'] }),
    new AbortController().signal,
  );
  const keyOf = (name: string) => `${prefix}${name}`;
  const ask = <Result>(work: () => Promise<Result>) => withStoreFaults(store, work);
  return {
    name: `s3://${bucket_name}/${prefix}`,
    write: (name, bytes) =>
      ask(() =>
        uploadWhole(store, keyOf(name), bytes, { content_type: 'application/octet-stream' }),
      ),
    read: (name): Promise<Readable | undefined> => ask(() => store.read(keyOf(name))),
    size: (name) => ask(async () => (await store.describe(keyOf(name)))?.bytes),
    list: async function* (folder) {
      for await (const key of store.list(keyOf(folder), { direct: false }))
        yield key.slice(prefix.length);
    },
    remove: (name) => ask(() => store.remove(keyOf(name))),
  };
}

function readAddress(address: string) {
  const url = URL.parse(address);
  if (url === null || url.hostname === '')
    throw new UserError(`"${address}" is no address of a bucket: write s3://bucket/prefix.`);
  const folder = url.pathname.split('/').filter((part) => part !== '');
  return {
    bucket_name: url.hostname,
    prefix: folder.map((part) => `${decodeURIComponent(part)}/`).join(''),
    region: url.searchParams.get('region') ?? 'us-east-1',
    endpoint_url: url.searchParams.get('endpoint'),
  };
}
