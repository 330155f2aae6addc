import { zstdDecompressSync } from 'node:zlib';
import { changedFile } from '../../../../test/factories/batch_exports/changed_files.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { parseJsonLines } from '../../../../test/watchers/read_formats.ts';
import { gcs } from './gcs.ts';
import {
  openAroundTests,
  bucket_name,
  server,
  deps,
  base,
  names,
  open,
  accountWith,
} from '../../../../test/destinations/gcs_world.ts';
import { other_keys } from '../../../../test/factories/people/rsa_keys.ts';

const opened = openAroundTests();

let places = 0;

const topOf = (config: Config) => `${String(config['prefix']).split('/')[0]}/`;

testDestination({
  definition: gcs,
  start: () => opened().then(() => deps),
  stop: async () => undefined,
  configure: async () => ({
    ...base,
    prefix: `place ${(places += 1)} (ü%2f&+#?<>)/{year}-{month}/{table}/`,
    file_format: 'JSONLines',
    compression: 'zstd',
    max_file_size_mb: null,
  }),
  readBack: async (config) =>
    names(topOf(config))
      .filter((name) => name.endsWith('.jsonl.zst'))
      .flatMap((name) =>
        parseJsonLines(zstdDecompressSync(server.objects(bucket_name).get(name)!.bytes)),
      ),
  leftovers: async (config) => [
    ...open(topOf(config)),
    ...names(topOf(config)).filter((name) => name.includes('check')),
  ],
  misconfigure: async () => [
    {
      name: 'key of another account',
      change: { service_account_json: accountWith({ private_key: other_keys.private_pem }) },
      code: 'authentication_failed',
    },
    {
      name: 'unknown account',
      change: { service_account_json: accountWith({ client_email: 'x@y.example' }) },
      code: 'authentication_failed',
    },
  ],
  invalid: [
    { name: 'bucket is a path', change: { bucket_name: 'a/../b' } },
    { name: 'account is no JSON', change: { service_account_json: '-----BEGIN' } },
    { name: 'account is null', change: { service_account_json: 'null' } },
    {
      name: 'account of another kind',
      change: { service_account_json: '{"type":"external_account"}' },
    },
    {
      name: 'account without address',
      change: { service_account_json: '{"type":"service_account"}' },
    },
    {
      name: 'half a key',
      change: {
        service_account_json:
          '{"type":"service_account","client_email":"a@b","private_key":"-----BEGIN"}',
      },
      attr: 'service_account_json',
    },
    { name: 'unknown variable', change: { prefix: '{yesterday}' } },
    { name: 'out of the bucket', change: { prefix: 'a/../../other' } },
    { name: 'endpoint without protocol', change: { endpoint_url: 'gcs:9000' } },
    { name: 'endpoint with a query', change: { endpoint_url: 'https://example.com?x=1' } },
    { name: 'compression of another format', change: { compression: 'snappy' } },
  ],
  damage: {
    changed: async (_config, [outcome]) => {
      const { bytes } = server.objects(bucket_name).get(outcome?.name ?? '')!;
      bytes[20] = (bytes[20] ?? 0) ^ 1;
    },
    value: async (config, [outcome]) => {
      const object = server.objects(bucket_name).get(outcome?.name ?? '')!;
      object.bytes = changedFile(object.bytes, gcs.encoding(config as never));
    },
    missing: async (_config, [outcome]) =>
      void server.objects(bucket_name).delete(outcome?.name ?? ''),
    added: async (_config, [outcome]) => {
      const objects = server.objects(bucket_name);
      objects.set((outcome?.name ?? '').replace('-0000.', '-0007.'), {
        bytes: Buffer.from('x'),
        content_type: 'text/plain',
        metadata: {},
        updated: new Date().toISOString(),
      });
    },
  },
  large_shown_by: 'file.test.ts',
  has_nul: true,
  recovers: true,
});
