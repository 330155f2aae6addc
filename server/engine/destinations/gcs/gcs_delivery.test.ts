import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { assertListedSeals } from '../../../../test/destinations/listed_seals.ts';
import {
  isPassing,
  assertFault,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { openFaultyServer, stopWhileHeld } from '../../../../test/servers/faulty_server.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { openBucket } from './bucket.ts';
import type { GcsConfig } from './config.ts';
import { gcs_faults } from './faults.ts';
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
import { delivery, write } from '../../../../test/factories/batch_exports/object_deliveries.ts';
import { other_keys } from '../../../../test/factories/people/rsa_keys.ts';

openAroundTests();

test('a large slice is uploaded in parts and survives the death of its sink', async () => {
  const config = { ...base, prefix: 'large' };
  const pieces = Array.from({ length: 9 }, (_, number) =>
    Buffer.alloc(1 << 20, `piece ${number} `),
  );
  const dead = await gcs.open(config, delivery, deps);
  const seen = server.requests.length;
  const { name, state } = await dead.write({ number: 0, records: 1 }, Readable.from(pieces));
  assert.equal(
    server.requests.slice(seen).filter((request) => request.includes('partNumber=')).length,
    2,
  );
  const outcome = { number: 0, name, state, records: 1, bytes: 9 << 20, sha256: '' };
  const sink = await gcs.open(config, { ...delivery, attempt: 2 }, deps);
  assert.deepEqual(await sink.recover([outcome]), [outcome]);
  await sink.commit([outcome], manifest);
  const found = server.objects(bucket_name).get(name)!;
  assert.ok(found.bytes.equals(Buffer.concat(pieces)));
  assert.equal(found.content_type, 'application/x-ndjson');
});

test('lists of any number of pages are gone through', async () => {
  const store = await openBucket(base, deps.outbound, deps.signal);
  const facts = { mark: 'mark', content_type: 'text/csv' };
  const keys = ['a', 'b', 'c/d', 'e', 'f'].map((name) => `pages/${name}`);
  for (const key of keys) await store.put(key, key);
  const listed: Record<string, string[]> = { all: [], direct: [] };
  for await (const key of store.list('pages/', { direct: false })) listed['all']?.push(key);
  for await (const key of store.list('pages/', { direct: true })) listed['direct']?.push(key);
  assert.deepEqual(listed, { all: keys, direct: keys.filter((key) => !key.includes('/d')) });
  const ids = new Map<string, string>();
  for (const key of [...keys, keys[0]!]) ids.set(key, await store.startUpload(key, facts));
  await store.endUploads('pages/', [{ key: keys[4]!, upload_id: ids.get(keys[4]!)! }]);
  assert.deepEqual(open('pages/'), [keys[4]]);
});

test('an account that may only create can deliver', async () => {
  const config = { ...base, prefix: 'write-only' };
  const sink = await gcs.open(config, delivery, deps);
  server.failNext(/^GET .*receipt/, 403, 'forbidden');
  assert.equal(await sink.isCommitted(), false);
  server.failNext(/^GET .*uploads/, 403, 'AccessDenied');
  assert.deepEqual(await sink.recover([]), []);
  const outcome = await write(sink);
  server.failNext(/^GET .*fields=size/, 403, 'forbidden');
  server.failNext(/^GET .*prefix=/, 403, 'forbidden');
  server.failNext(/^GET .*uploads/, 403, 'AccessDenied');
  await sink.commit([outcome], manifest);
  assert.equal(names('write-only/').length, 2);
});

test('a completion whose answer was lost is known by its mark, a gone one is not', async () => {
  const sink = await gcs.open({ ...base, prefix: 'marked' }, delivery, deps);
  const outcome = await write(sink);
  await sink.commit([outcome], manifest);
  await sink.commit([outcome], manifest);
  server.objects(bucket_name).get(outcome.name)!.metadata = { 'sluice-upload': 'another' };
  await assert.rejects(sink.commit([outcome], manifest), isPassing('slice_lost'));
});

test('a passing fault of the store is retried at once, a lasting one later', async () => {
  const sink = await gcs.open({ ...base, prefix: 'slow' }, delivery, deps);
  server.failNext(/^POST \/token/, 503, 'internal_failure');
  server.failNext(/partNumber=1/, 503, 'SlowDown');
  await write(sink);
  for (let times = 0; times < 3; times += 1)
    server.failNext(/partNumber=1/, 429, 'TooManyRequests');
  await assert.rejects(write(sink, 1), isPassing('throttled'));
  for (let times = 0; times < 3; times += 1) server.dropNext(/partNumber=1/);
  await assert.rejects(write(sink, 1), isPassing('connection_lost'));
  await sink.abort([]);
  assert.deepEqual(open('slow/'), []);
});

test('a stop leaves a store or a token service that does not answer, and closes all', async () => {
  const waits: [RegExp, (sink: Sink, outcome: SliceOutcome) => Promise<unknown>][] = [
    [/^POST .*uploads/, (sink) => write(sink, 1)],
    [/partNumber=1/, (sink) => write(sink, 1)],
    [/^GET .*receipt/, (sink) => sink.isCommitted()],
    [/^GET .*uploadId/, (sink, outcome) => sink.recover([outcome])],
    [/^POST .*uploadId/, (sink, outcome) => sink.commit([outcome], manifest)],
    [/^GET .*uploads/, (sink) => sink.abort([])],
  ];
  for (const [number, [pattern, wait]] of waits.entries()) {
    const config = { ...base, prefix: `held-${number}` };
    const stop = new AbortController();
    const sink = await gcs.open(config, delivery, { ...deps, signal: stop.signal });
    const outcome = await write(sink);
    await stopWhileHeld(server, pattern, stop, () => wait(sink, outcome));
    assert.deepEqual(open(`held-${number}/`), [outcome.name], String(pattern));
    await assert.rejects(gcs.open(config, delivery, { ...deps, signal: stop.signal }), /stopped/);
  }
  const stop = new AbortController();
  const sink = await gcs.open({ ...base, prefix: 'held-token' }, delivery, {
    ...deps,
    signal: stop.signal,
  });
  await stopWhileHeld(server, /^POST \/token/, stop, () => write(sink));
});

test('no key or token is in any error, however deep', async () => {
  const key = other_keys.private_pem;
  const gone = await openFaultyServer(
    () => undefined,
    () => undefined,
  );
  await gone.close();
  const wrong: GcsConfig[] = [
    { ...base, service_account_json: accountWith({ private_key: key }) },
    { ...base, endpoint_url: gone.endpoint },
    { ...base, bucket_name: 'no-such-bucket' },
  ];
  for (const config of wrong) {
    const error = await write(await gcs.open(config, delivery, deps)).catch(
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof NonRetryableError || error instanceof RetryableError);
    const said: string[] = [];
    for (let at: unknown = error; at instanceof Error; at = at.cause)
      said.push(at.message, String(at.stack));
    assert.doesNotMatch(said.join(), /PRIVATE KEY|token-|Bearer|eyJ/);
    assert.ok(!said.join().includes(key.slice(100, 140)));
  }
});

test('Google’s three forms of errors tell faults apart', () => {
  const cases: [unknown, number, boolean, string][] = [
    [{ error: 'invalid_grant' }, 400, false, 'authentication_failed'],
    ['{"error":{"errors":[{"reason":"forbidden"}]}}', 403, false, 'permission_denied'],
    [{ error: { errors: [{ reason: 'retentionPolicyNotMet' }] } }, 403, false, 'permission_denied'],
    ['<Error><Code>NoSuchBucket</Code></Error>', 404, false, 'bucket_missing'],
    ['<Error><Code>NoSuchUpload</Code></Error>', 404, true, 'slice_lost'],
    ['<Error><Code>EntityTooLarge</Code></Error>', 400, false, 'request_refused'],
    ['{"error":{"errors":[{"reason":"rateLimitExceeded"}]}}', 403, true, 'throttled'],
    ['{"error":{"errors":[{"reason":"cloudKmsDisabledKey"}]}}', 400, false, 'kms_key_unusable'],
    ['<html>', 502, true, 'store_fault'],
    ['null', 401, false, 'authentication_failed'],
    [undefined, 429, true, 'throttled'],
  ];
  for (const [data, status, isRetryable, code] of cases) {
    const error = gcs_faults.explain(
      Object.assign(new Error('said the library'), { response: { status, data } }),
    );
    assertFault(error, isRetryable, code, code);
  }
  for (const data of [
    { error: { message: 'sa lacks a right.', errors: [{ reason: 'forbidden' }] } },
    '<Error><Code>AccessDenied</Code><Details>sa lacks a right.</Details></Error>',
  ]) {
    const response = { status: 403, data };
    const error = gcs_faults.explain(Object.assign(new Error('said the library'), { response }));
    assert.match((error as Error).message, /lacks the permission for this \(sa lacks a right\)/);
  }
  const hidden = new Error('said the library', {
    cause: new TypeError('fetch failed', {
      cause: Object.assign(new Error('system'), { code: 'ECONNREFUSED' }),
    }),
  });
  assert.equal((gcs_faults.explain(hidden) as RetryableError).code, 'connection_failed');
  const source = new Error('the query failed');
  assert.equal(gcs_faults.explain(source), source);
});

test('lists alone tell that new objects are the uploaded ones', async () => {
  const config = { ...base, prefix: 'listed' };
  const { requests } = server;
  const store = await openBucket(config, deps.outbound, deps.signal);
  const lists = /^GET .*\/o\?|\/token$/;
  await assertListedSeals({ definition: gcs, config, deps, store, requests, lists });
});
