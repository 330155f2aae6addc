import { Readable } from 'node:stream';
import { s3 } from '../../server/engine/destinations/s3/s3.ts';
import type { S3Config } from '../../server/engine/destinations/s3/config.ts';
import { uploadWhole } from '../../server/engine/destinations/object_store/upload.ts';
import { changedFile } from '../factories/batch_exports/changed_files.ts';
import { contractColumns } from '../factories/batch_exports/contract_rows.ts';
import { parseParquet } from '../watchers/read_formats.ts';
import type { Config, DestinationUnderTest } from './destination_world.ts';
import { bucketOf, content, keys, topOf } from './s3_world.ts';

let places = 0;

const invalid: DestinationUnderTest['invalid'] = [
  { name: 'bucket is a path', change: { bucket_name: 'a/../b' } },
  { name: 'region is a host', change: { region: 'x.evil.example/' } },
  { name: 'no secret', change: { aws_secret_access_key: undefined } },
  { name: 'prefix that leads out', change: { prefix: 'a/../../b' } },
  { name: 'unknown variable', change: { prefix: '{yesterday}' } },
  { name: 'unknown encryption', change: { encryption: 'rot13' } },
  {
    name: 'kms key without kms',
    change: { kms_key_id: 'key', encryption: 'AES256' },
    attr: 'kms_key_id',
  },
  { name: 'endpoint without protocol', change: { endpoint_url: 'minio:9000' } },
  { name: 'endpoint with a user', change: { endpoint_url: 'https://user:pw@example.com' } },
  {
    name: 'compression of another format',
    change: { file_format: 'JSONLines', compression: 'lz4' },
    attr: 'compression',
  },
  { name: 'style is text', change: { use_virtual_style_addressing: 'true' } },
];

const damage: DestinationUnderTest['damage'] = {
  changed: async (config, [outcome]) => {
    const bytes = await content(config, outcome?.name ?? '');
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    await replace(config, outcome?.name ?? '', bytes);
  },
  value: async (config, [outcome]) => {
    const bytes = await content(config, outcome?.name ?? '');
    await replace(
      config,
      outcome?.name ?? '',
      changedFile(Buffer.from(bytes), s3.encoding(config as never)),
    );
  },
  missing: (config, [outcome]) => bucketOf(config).remove(outcome?.name ?? ''),
  added: (config, [outcome]) =>
    bucketOf(config).put((outcome?.name ?? '').replace('-0000.', '-0007.'), 'x'),
};

/** The contract of destinations for a store that speaks S3; `base` has a bucket and its keys. */
export const s3Contract = ({
  start,
  stop,
  base,
}: Pick<DestinationUnderTest, 'start' | 'stop'> & {
  base: () => S3Config;
}): DestinationUnderTest => ({
  definition: s3,
  start,
  stop,
  configure: async () => ({
    ...base(),
    prefix: `place ${(places += 1)} (ü)/{year}-{month}/{table}/`,
    file_format: 'Parquet',
    compression: 'snappy',
    kms_key_id: null,
    encryption: null,
  }),
  readBack: async (config) => {
    const names = (await keys(config)).filter((name) => name.endsWith('.parquet'));
    const rows = [];
    for (const name of names)
      rows.push(...(await parseParquet(await content(config, name), contractColumns)));
    return rows;
  },
  leftovers: async (config) => [
    ...(await Array.fromAsync(bucketOf(config).openUploads(topOf(config)))).map(({ key }) => key),
    ...(await keys(config)).filter((key) => key.includes('check')),
  ],
  misconfigure: async () => [],
  invalid,
  damage,
  large_shown_by: 'file.test.ts',
  has_nul: true,
  recovers: true,
});

function replace(config: Config, name: string, bytes: Uint8Array): Promise<void> {
  return uploadWhole(bucketOf(config), name, Readable.from([bytes]), {
    content_type: 'text/plain',
  });
}
