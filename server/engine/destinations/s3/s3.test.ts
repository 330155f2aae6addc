import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { changedFile } from '../../../../test/factories/changed_files.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import type { Config } from '../../../../test/destinations/destination_world.ts';
import { contractColumns } from '../../../../test/factories/contract_rows.ts';
import { parseParquet } from '../../../../test/watchers/read_formats.ts';
import { openS3Server, setEnvironmentCredentials } from '../../../../test/servers/s3_server.ts';
import type { S3Server } from '../../../../test/servers/s3_server.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { NonRetryableError, RetryableError } from '../../destination/errors.ts';
import type { Delivery } from '../../destination/destination.ts';
import { uploadParts } from '../../object_store/upload.ts';
import { openBucket } from '../../object_store/s3_bucket.ts';
import type { S3Config } from './config.ts';
import { s3_faults } from '../../object_store/s3_faults.ts';
import { s3 } from './s3.ts';

const bucket_name = 'test-bucket';
const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const deps = {
  log: silentLog(),
  outbound,
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};
let server: S3Server;
let base: S3Config;
let places = 0;

before(async () => {
  server = await openS3Server([bucket_name]);
  base = {
    bucket_name,
    region: 'us-east-1',
    prefix: '',
    aws_access_key_id: server.access_key,
    aws_secret_access_key: server.secret_key,
    endpoint_url: server.endpoint,
  };
});

after(async () => {
  await outbound.close();
  await server.close();
});

const bucketOf = (config: Config) => openBucket(config as S3Config, outbound, deps.signal);
const topOf = (config: Config) => String(config['prefix']).split('/')[0] ?? '';

async function keys(config: Config): Promise<string[]> {
  const found: string[] = [];
  for await (const key of bucketOf(config).list(`${topOf(config)}/`, { direct: false }))
    found.push(key);
  return found.sort();
}

async function content(config: Config, key: string): Promise<Buffer> {
  const stream = await bucketOf(config).read(key);
  return Buffer.concat((await stream?.toArray()) ?? []);
}

testDestination({
  definition: s3,
  start: async () => deps,
  stop: async () => undefined,
  configure: async () => ({
    ...base,
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
    ...server.openUploads(bucket_name).filter((key) => key.startsWith(topOf(config))),
    ...(await keys(config)).filter((key) => key.includes('check')),
  ],
  misconfigure: async (config) => [
    {
      name: 'wrong secret',
      config: { ...config, aws_secret_access_key: 'a-secret-of-nobody' },
      code: 'authentication_failed',
    },
    {
      name: 'unknown key',
      config: { ...config, aws_access_key_id: 'AKIAOFNOBODY' },
      code: 'authentication_failed',
    },
    {
      name: 'no such bucket',
      config: { ...config, bucket_name: 'no-such-bucket' },
      code: 'bucket_missing',
    },
    {
      name: 'metadata service',
      config: { ...config, endpoint_url: 'http://169.254.169.254/' },
      code: 'outbound_refused',
    },
    {
      name: 'no such host',
      config: { ...config, endpoint_url: 'http://no-such-host.invalid/' },
      code: 'host_not_found',
    },
  ],
  invalid: [
    { name: 'no bucket', change: { bucket_name: undefined }, attr: 'bucket_name' },
    { name: 'bucket is a path', change: { bucket_name: 'a/../b' }, attr: 'bucket_name' },
    { name: 'no region', change: { region: undefined }, attr: 'region' },
    { name: 'region is a host', change: { region: 'x.evil.example/' }, attr: 'region' },
    {
      name: 'no secret',
      change: { aws_secret_access_key: undefined },
      attr: 'aws_secret_access_key',
    },
    { name: 'no prefix', change: { prefix: undefined }, attr: 'prefix' },
    { name: 'unknown variable', change: { prefix: '{yesterday}' }, attr: 'prefix' },
    { name: 'unknown encryption', change: { encryption: 'rot13' }, attr: 'encryption' },
    {
      name: 'kms key without kms',
      change: { kms_key_id: 'key', encryption: 'AES256' },
      attr: 'kms_key_id',
    },
    {
      name: 'endpoint without protocol',
      change: { endpoint_url: 'minio:9000' },
      attr: 'endpoint_url',
    },
    {
      name: 'endpoint with a user',
      change: { endpoint_url: 'https://user:pw@example.com' },
      attr: 'endpoint_url',
    },
    {
      name: 'compression of another format',
      change: { file_format: 'JSONLines', compression: 'lz4' },
      attr: 'compression',
    },
    {
      name: 'style is text',
      change: { use_virtual_style_addressing: 'true' },
      attr: 'use_virtual_style_addressing',
    },
  ],
  damage: {
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
  },
  has_nul: true,
  recovers: true,
});

async function replace(config: Config, name: string, bytes: Uint8Array): Promise<void> {
  const bucket = bucketOf(config);
  const facts = { mark: 'mark', content_type: 'text/plain' };
  const id = await bucket.startUpload(name, facts);
  const parts = await uploadParts(bucket, name, id, Readable.from([bytes]));
  await bucket.completeUpload(name, id, parts, facts);
}

const delivery: Delivery = {
  delivery_id: '018f0000-0000-7000-8000-0123456789ab',
  run_id: '018f0000-0000-7000-8000-0123456789ab',
  attempt: 1,
  batch_export_id: '018f0000-0000-7000-8000-000000000001',
  team_id: 1,
  model: 'events',
  data_interval_start: '2015-09-11T00:00:00Z',
  data_interval_end: '2015-09-12T00:00:00Z',
  columns: [],
};

const text = (bytes: string) => Readable.from([Buffer.from(bytes)]);

test('a large slice goes up in parts of bounded size and comes back whole', async () => {
  const config = { ...base, prefix: 'large' };
  const bucket = bucketOf(config);
  const piece = Buffer.alloc(1 << 20, 'abcdefghij');
  const sink = await s3.open(config, delivery, deps);
  const before = server.requests.length;
  const { name, state } = await sink.write(
    { number: 0, records: 1 },
    Readable.from(Array.from({ length: 21 }, () => piece)),
  );
  const parts = server.requests.slice(before).filter((request) => request.includes('partNumber='));
  assert.equal(parts.length, 3);
  await sink.commit([{ number: 0, name, state, records: 1, bytes: 21 << 20, sha256: '' }], {
    name: 'manifest',
    text: '{}',
  });
  const back = Buffer.concat((await (await bucket.read(name))?.toArray()) ?? []);
  assert.ok(back.equals(Buffer.concat(Array.from({ length: 21 }, () => piece))));
});

test('a completed upload whose answer was lost is recovered by its mark', async () => {
  const config = { ...base, prefix: 'marked' };
  const first = await s3.open(config, delivery, deps);
  const written = await first.write({ number: 0, records: 1 }, text('{}\n'));
  const outcome = { number: 0, ...written, records: 1, bytes: 3, sha256: '' };
  await first.commit([outcome], { name: 'manifest', text: '{}' });
  const next = await s3.open(config, { ...delivery, attempt: 2 }, deps);
  assert.deepEqual(await next.recover([outcome]), [outcome]);
  const foreign = { ...outcome, state: { ...(written.state as object), mark: 'another' } };
  assert.deepEqual(await next.recover([foreign]), []);
});

test('an access key that may only write can deliver', async () => {
  const config = { ...base, prefix: 'write-only' };
  const sink = await s3.open(config, delivery, deps);
  server.failNext(/^GET .*_manifest/, 403, 'AccessDenied');
  assert.equal(await sink.isCommitted(), false);
  server.failNext(/^GET .*uploads/, 403, 'AccessDenied');
  assert.deepEqual(await sink.recover([]), []);
  const written = await sink.write({ number: 0, records: 1 }, text('{}\n'));
  server.failNext(/^GET .*list-type/, 403, 'AccessDenied');
  server.failNext(/^HEAD /, 403, 'AccessDenied');
  await sink.commit([{ number: 0, ...written, records: 1, bytes: 3, sha256: '' }], {
    name: 'manifest',
    text: '{}',
  });
  assert.equal((await keys(config)).length, 2);
});

test('a passing fault of the store is tried again by itself, a lasting one is retryable', async () => {
  const config = { ...base, prefix: 'slow' };
  const sink = await s3.open(config, delivery, deps);
  server.failNext(/partNumber=1/, 503, 'SlowDown');
  await sink.write({ number: 0, records: 1 }, text('{}\n'));
  for (let times = 0; times < 3; times += 1) server.failNext(/partNumber=1/, 503, 'SlowDown');
  await assert.rejects(
    sink.write({ number: 1, records: 1 }, text('{}\n')),
    (error) => error instanceof RetryableError && error.code === 'throttled',
  );
  await sink.abort([]);
  assert.deepEqual(
    server.openUploads(bucket_name).filter((key) => key.startsWith('slow')),
    [],
  );
});

test('a store that cannot be reached is worth another attempt', async () => {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  const sink = await s3.open({ ...base, endpoint_url: `http://127.0.0.1:${port}` }, delivery, deps);
  await assert.rejects(
    sink.write({ number: 0, records: 1 }, text('{}\n')),
    (error) => error instanceof RetryableError && error.code === 'connection_failed',
  );
});

test('encryption and addressing are passed on', async () => {
  const seen: { path: string; headers: NodeJS.Dict<string | string[]> }[] = [];
  const http = await import('node:http');
  const store = http.createServer((request, response) => {
    seen.push({ path: String(request.url), headers: request.headers });
    request.resume();
    response
      .writeHead(200, { 'content-type': 'application/xml', etag: '"1"' })
      .end(
        '<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>',
      );
  });
  store.listen(0, '127.0.0.1');
  await once(store, 'listening');
  const endpoint_url = `http://localhost:${(store.address() as AddressInfo).port}`;
  const config = {
    ...base,
    endpoint_url,
    encryption: 'aws:kms',
    kms_key_id: 'my-key',
    compression: 'gzip',
  } as const;
  await openBucket(config, outbound, deps.signal).startUpload('a/key', {
    mark: 'mark',
    content_type: 'text/csv',
  });
  assert.equal(seen[0]?.path, `/${bucket_name}/a/key?uploads=`);
  assert.equal(seen[0]?.headers['x-amz-server-side-encryption'], 'aws:kms');
  assert.equal(seen[0]?.headers['x-amz-server-side-encryption-aws-kms-key-id'], 'my-key');
  assert.equal(seen[0]?.headers['x-amz-meta-sluice-upload'], 'mark');
  await openBucket(
    {
      ...config,
      endpoint_url: endpoint_url.replace('localhost', 'store.localhost'),
      use_virtual_style_addressing: true,
    },
    outbound,
    deps.signal,
  )
    .startUpload('a/key', { mark: 'mark', content_type: 'text/csv' })
    .catch((error: Error) => seen.push({ path: '', headers: { host: error.message } }));
  assert.match(String(seen[1]?.headers['host']), new RegExp(`${bucket_name}.store.localhost`));
  store.closeAllConnections();
  store.close();
});

test(
  "the server's own credentials are used only where the operator allows it and the config has " +
    'no key',
  async () => {
    const { aws_access_key_id: _key, aws_secret_access_key: _secret, ...keyless } = base;
    const attrs = (config: S3Config, has_environment_credentials: boolean) =>
      s3.validate(config, { has_environment_credentials }).map(({ attr }) => attr);
    const cases: [S3Config, boolean, string[]][] = [
      [keyless, false, ['aws_access_key_id', 'aws_secret_access_key']],
      [keyless, true, []],
      [{ ...keyless, aws_access_key_id: 'key' }, true, ['aws_secret_access_key']],
      [{ ...keyless, aws_secret_access_key: 'secret' }, true, ['aws_access_key_id']],
      [{ ...keyless, aws_access_key_id: 'key' }, false, ['aws_secret_access_key']],
      [base, false, []],
    ];
    for (const [config, isAllowed, expected] of cases)
      assert.deepEqual(attrs(config, isAllowed), expected);
    const allowed = { ...deps, has_environment_credentials: true };
    setEnvironmentCredentials(server);
    await assert.rejects(
      s3.open({ ...keyless, prefix: 'own' }, delivery, deps),
      (error) => error instanceof NonRetryableError && error.code === 'authentication_failed',
    );
    const sink = await s3.open({ ...keyless, prefix: 'own' }, delivery, allowed);
    const written = await sink.write({ number: 0, records: 1 }, text('{}\n'));
    await sink.commit([{ number: 0, ...written, records: 1, bytes: 3, sha256: '' }], {
      name: 'manifest',
      text: '{}',
    });
    assert.equal((await keys({ ...base, prefix: 'own' })).length, 2);
    // The config's own key counts where there is one, right or wrong.
    const wrong = await s3.open(
      { ...base, aws_secret_access_key: 'wrong', prefix: 'own' },
      delivery,
      allowed,
    );
    await assert.rejects(
      wrong.write({ number: 1, records: 1 }, text('{}\n')),
      (error) => error instanceof NonRetryableError && error.code === 'authentication_failed',
    );
  },
);

test('encryption AES256 is asked for at the upload and at the manifest, and needs no key', async () => {
  const config = { ...base, prefix: 'encrypted', encryption: 'AES256' } as const;
  const before = server.requests.length;
  const sink = await s3.open(config, delivery, deps);
  const written = await sink.write({ number: 0, records: 1 }, text('{}\n'));
  await sink.commit([{ number: 0, ...written, records: 1, bytes: 3, sha256: '' }], {
    name: 'manifest',
    text: '{}',
  });
  const asking = server.requests
    .slice(before)
    .filter((_, index) => server.encryptions[before + index] === 'AES256');
  assert.equal(asking.length, 2, asking.join());
  assert.ok(
    asking.some((request) => request.startsWith('POST')) &&
      asking.some((request) => request.startsWith('PUT') && request.includes('manifest')),
  );
});

test('faults are told apart by name and status', () => {
  const cases: [string, number, boolean, string][] = [
    ['NoSuchBucket', 404, false, 'bucket_missing'],
    ['NotFound', 404, false, 'bucket_missing'],
    ['AccessDenied', 403, false, 'permission_denied'],
    ['InvalidAccessKeyId', 403, false, 'authentication_failed'],
    ['SignatureDoesNotMatch', 403, false, 'authentication_failed'],
    ['PermanentRedirect', 301, false, 'wrong_region'],
    ['InvalidBucketName', 400, false, 'bucket_missing'],
    ['KMS.NotFoundException', 400, false, 'kms_key_unusable'],
    ['Unknown', 400, false, 'request_refused'],
    ['SlowDown', 503, true, 'throttled'],
    ['InternalError', 500, true, 'store_fault'],
    ['Unknown', 502, true, 'store_fault'],
    ['Unknown', 429, true, 'throttled'],
    ['RequestTimeout', 400, true, 'connection_lost'],
    ['TimeoutError', 0, true, 'connection_lost'],
  ];
  for (const [name, httpStatusCode, isRetryable, code] of cases) {
    const error = s3_faults.explain(
      Object.assign(new Error('said the store'), { name, $metadata: { httpStatusCode } }),
    );
    assert.ok(
      isRetryable ? error instanceof RetryableError : error instanceof NonRetryableError,
      name,
    );
    assert.equal((error as RetryableError).code, code, name);
  }
  for (const code of ['ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT'])
    assert.ok(
      s3_faults.explain(Object.assign(new Error('system'), { code })) instanceof RetryableError,
    );
  const source = new Error('the query failed');
  assert.equal(s3_faults.explain(source), source);
});
