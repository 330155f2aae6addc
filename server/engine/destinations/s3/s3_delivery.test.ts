import assert from 'node:assert/strict';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { assertListedSeals } from '../../../../test/destinations/listed_seals.ts';
import { delivery, write } from '../../../../test/factories/batch_exports/object_deliveries.ts';
import {
  isLasting,
  isPassing,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { setEnvironmentCredentials } from '../../../../test/servers/object_stores/s3_server.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import type { S3Config } from './config.ts';
import { s3 } from './s3.ts';
import {
  openAroundTests,
  bucket_name,
  locked_bucket_name,
  deps,
  server,
  base,
  bucketOf,
  keys,
} from '../../../../test/destinations/s3_world.ts';
import { listen } from '../../../../test/servers/loopback.ts';

openAroundTests();

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
  await sink.commit(
    [{ number: 0, name, state, records: 1, bytes: 21 << 20, sha256: '' }],
    manifest,
  );
  const back = Buffer.concat((await (await bucket.read(name))?.toArray()) ?? []);
  assert.ok(back.equals(Buffer.concat(Array.from({ length: 21 }, () => piece))));
});

test('a completed upload whose answer was lost is recovered by its mark', async () => {
  const config = { ...base, prefix: 'marked' };
  const first = await s3.open(config, delivery, deps);
  const outcome = await write(first);
  await first.commit([outcome], manifest);
  const next = await s3.open(config, { ...delivery, attempt: 2 }, deps);
  assert.deepEqual(await next.recover([outcome]), [outcome]);
  const foreign = { ...outcome, state: { ...(outcome.state as object), mark: 'another' } };
  assert.deepEqual(await next.recover([foreign]), []);
});

test('an access key that may only write can deliver', async () => {
  const config = { ...base, prefix: 'write-only' };
  const sink = await s3.open(config, delivery, deps);
  server.failNext(/^GET .*receipt/, 403, 'AccessDenied');
  assert.equal(await sink.isCommitted(), false);
  server.failNext(/^GET .*uploads/, 403, 'AccessDenied');
  assert.deepEqual(await sink.recover([]), []);
  const outcome = await write(sink);
  server.failNext(/^GET .*list-type/, 403, 'AccessDenied');
  server.failNext(/^HEAD /, 403, 'AccessDenied');
  await sink.commit([outcome], manifest);
  assert.equal((await keys(config)).length, 2);
});

test('a passing fault of the store is retried at once, a lasting one later', async () => {
  const config = { ...base, prefix: 'slow' };
  const sink = await s3.open(config, delivery, deps);
  server.failNext(/partNumber=1/, 503, 'SlowDown');
  await write(sink);
  for (let times = 0; times < 3; times += 1) server.failNext(/partNumber=1/, 503, 'SlowDown');
  await assert.rejects(write(sink, 1), isPassing('throttled'));
  await sink.abort([]);
  assert.deepEqual(
    server.openUploads(bucket_name).filter((key) => key.startsWith('slow')),
    [],
  );
});

test('a store that cannot be reached is worth another attempt', async () => {
  const listener = await listen(net.createServer());
  const { port } = listener.address() as AddressInfo;
  listener.close();
  const sink = await s3.open({ ...base, endpoint_url: `http://127.0.0.1:${port}` }, delivery, deps);
  await assert.rejects(write(sink), isPassing('connection_failed'));
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
  await listen(store);
  const endpoint_url = `http://localhost:${(store.address() as AddressInfo).port}`;
  const config = {
    ...base,
    endpoint_url,
    encryption: 'aws:kms',
    kms_key_id: 'my-key',
    compression: 'gzip',
  } as const;
  await openBucket(config, deps.outbound, deps.signal).startUpload('a/key', {
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
    deps.outbound,
    deps.signal,
  )
    .startUpload('a/key', { mark: 'mark', content_type: 'text/csv' })
    .catch((error: Error) => seen.push({ path: '', headers: { host: error.message } }));
  assert.match(String(seen[1]?.headers['host']), new RegExp(`${bucket_name}.store.localhost`));
  store.closeAllConnections();
  store.close();
});

test('the server’s credentials are used only if allowed and without a key', async () => {
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
    isLasting('authentication_failed'),
  );
  const sink = await s3.open({ ...keyless, prefix: 'own' }, delivery, allowed);
  await sink.commit([await write(sink)], manifest);
  assert.equal((await keys({ ...base, prefix: 'own' })).length, 2);
  // The config's own key counts where there is one, right or wrong.
  const wrong = await s3.open(
    { ...base, aws_secret_access_key: 'wrong', prefix: 'own' },
    delivery,
    allowed,
  );
  await assert.rejects(write(wrong, 1), isLasting('authentication_failed'));
});

test('AES256 is asked for at the upload and at the manifest, and needs no key', async () => {
  const config = { ...base, prefix: 'encrypted', encryption: 'AES256' } as const;
  const before = server.encrypted.length;
  const sink = await s3.open(config, delivery, deps);
  await sink.commit([await write(sink)], manifest);
  const asking = server.encrypted.slice(before);
  assert.equal(asking.length, 2, asking.join());
  assert.ok(
    asking.some((request) => request.startsWith('POST')) &&
      asking.some((request) => request.startsWith('PUT') && request.includes('.receipt.json')),
  );
});

test('a bucket with Object Lock gets the MD5 that it asks for', async () => {
  const config = { ...base, prefix: 'locked', bucket_name: locked_bucket_name };
  const sink = await s3.open(config, delivery, deps);
  const piece = Buffer.alloc(9 << 20, 'abcdefghij');
  const before = server.requests.length;
  const { name, state } = await sink.write({ number: 0, records: 1 }, Readable.from([piece]));
  await sink.commit([{ number: 0, name, state, records: 1, bytes: 9 << 20, sha256: '' }], manifest);
  assert.equal((await keys(config)).length, 2);
  const puts = server.requests.slice(before).filter((request) => request.startsWith('PUT'));
  assert.ok(puts.length > 3, 'asked once, and answered from then on');
});

// s3rver tags an object with the MD5 of all its bytes, which the MD5s of the parts do not prove.
test('objects whose ETag proves nothing are asked for their mark', async () => {
  const config = { ...base, prefix: 'listed' };
  const { requests } = server;
  const store = bucketOf(config);
  const lists = /list-type=2|^HEAD .*jsonl$/;
  await assertListedSeals({ definition: s3, config, deps, store, requests, lists });
});
