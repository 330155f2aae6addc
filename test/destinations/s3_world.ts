import { destinationDeps } from './destination_deps.ts';
import type { Config } from './destination_world.ts';
import { betweenFiles } from '../between_files.ts';
import { openS3Server } from '../servers/object_stores/s3_server.ts';
import type { S3Server } from '../servers/object_stores/s3_server.ts';
import { openBucket } from '../../server/engine/destinations/object_store/s3_bucket.ts';
import type { S3Config } from '../../server/engine/destinations/s3/config.ts';

/** The bucket of the tests. */
export const bucket_name = 'test-bucket';

/** A bucket that only accepts bytes with their MD5. */
export const locked_bucket_name = 'locked-bucket';

/** The parts that the server passes to the destination. */
export const deps = destinationDeps();

/** The store; opened before the tests of the files that import it, and closed after them. */
export let server: S3Server;

/** A config whose place each test still has to name. */
export let base: S3Config;

/** The bucket as the destination opens it. */
export const bucketOf = (config: Config) =>
  openBucket(config as S3Config, deps.outbound, deps.signal);

/** The folder of one place. */
export const topOf = (config: Config) => String(config['prefix']).split('/')[0] ?? '';

/** The keys of a place, sorted. */
export async function keys(config: Config): Promise<string[]> {
  const found: string[] = [];
  for await (const key of bucketOf(config).list(`${topOf(config)}/`, { direct: false }))
    found.push(key);
  return found.sort();
}

/** The bytes of an object. */
export async function content(config: Config, key: string): Promise<Buffer> {
  const stream = await bucketOf(config).read(key);
  return Buffer.concat((await stream?.toArray()) ?? []);
}

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    server = await openS3Server([bucket_name], { locked: locked_bucket_name });
    base = {
      bucket_name,
      region: 'us-east-1',
      prefix: '',
      aws_access_key_id: server.access_key,
      aws_secret_access_key: server.secret_key,
      endpoint_url: server.endpoint,
    };
  },
  async () => {
    await deps.outbound.close();
    await server.close();
  },
);
