import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import {
  openS3Server,
  setEnvironmentCredentials,
} from '../../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import { openBucket } from '../../../engine/destinations/object_store/s3_bucket.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { UserError, WrongUsageError } from '../../user_error.ts';
import { openPlace } from './open_place.ts';
import { presentFiles } from './place.ts';

let folder: string;
let store: S3Server;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-place-'));
  store = await openS3Server(['backups']);
  setEnvironmentCredentials(store);
});
after(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

test('an empty address is no place, nor is one of anything but a bucket', () => {
  for (const address of ['', ' ']) assert.throws(() => openPlace(address), UserError);
  for (const address of [
    's3:/backups/a',
    's3:backups',
    'S3://backups',
    'gs://backups',
    'file:///a',
  ])
    assert.throws(
      () => openPlace(address),
      /is not a place for backups: write s3:\/\/bucket\/prefix/,
    );
});

for (const kind of ['folder', 'bucket'])
  test(`a ${kind} holds a file whole, or not at all`, async () => {
    const address =
      kind === 'folder' ? folder : `s3://backups/some/prefix?endpoint=${store.endpoint}`;
    const place = openPlace(address);
    const names = async () => (await Array.fromAsync(place.list('a/'))).toSorted();
    await place.write('a/b.json', Readable.from(['one']));
    await place.write('a/c/d.json', Readable.from([Buffer.from('two')]));
    await place.write('a/b.json', Readable.from(['another']));
    assert.equal(await text((await place.read('a/b.json'))!), 'another');
    assert.deepEqual([await place.size('a/b.json'), await place.size('a/x')], [7, undefined]);
    assert.equal(await place.read('a/x'), undefined);
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('half');
        throw new Error('The source broke.');
      })(),
    );
    await assert.rejects(place.write('a/e.json', broken), /The source broke/);
    assert.deepEqual(await names(), ['a/b.json', 'a/c/d.json']);
    const wanted = [
      { name: 'a/b.json', bytes: 7 },
      { name: 'a/c/d.json', bytes: 4 },
    ];
    assert.deepEqual([...(await presentFiles(place, wanted))], ['a/b.json']);
    await place.remove('a/b.json');
    await place.remove('a/b.json');
    assert.deepEqual(await names(), ['a/c/d.json']);
  });

test('an address of no bucket is refused with what to write', () => {
  assert.throws(() => openPlace('s3://'), /write s3:\/\/bucket\/prefix/);
  assert.throws(() => openPlace('s3://b?regoin=x'), /allows "region".* but not "regoin"/);
  const wrong: [string, RegExp][] = [
    ['s3://backups:9000/a', /more than a bucket and a prefix\. .*"endpoint"/],
    ['s3://key:secret@backups/a', /"s3:\/\/backups\/a" has more than a bucket/],
    ['s3://backups/a#b', /more than a bucket/],
    ['s3://backups/100%?endpoint=https://example.com', /write a % of the prefix as %25/],
    ['s3://backups?endpoint=minio:9000', /The endpoint must be an http or https address/],
    ['s3://backups?endpoint=', /The endpoint must be/],
    ['s3://backups?region=', /The region must be letters/],
    ['s3://Backups_X', /A bucket name is 3 to 63/],
  ];
  for (const [address, told] of wrong)
    assert.throws(
      () => openPlace(address),
      (error) => error instanceof WrongUsageError && told.test(error.message),
      address,
    );
});

test('tidying removes the leftovers of killed writes, and nothing of others', async () => {
  const half = 'analytics/events/0-9-12345678.native.zst';
  const theirs = 'analytics/events/2026.parquet';
  await mkdir(join(folder, 'analytics/events'), { recursive: true });
  for (const name of [half, theirs]) await writeFile(join(folder, `${name}.draft`), 'half');
  await openPlace(folder).tidy();
  assert.deepEqual(await readdir(join(folder, 'analytics/events')), ['2026.parquet.draft']);
  const place = { bucket_name: 'backups', region: 'us-east-1', endpoint_url: store.endpoint };
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const bucket = openBucket(place, outbound, new AbortController().signal);
  for (const key of [`x/${half}`, `x/${theirs}`, 'x/unfinished.json'])
    await bucket.startUpload(key, { mark: 'one', content_type: 'text/plain' });
  assert.equal(store.openUploads('backups').length, 3);
  await openPlace(`s3://backups/x?endpoint=${store.endpoint}`).tidy();
  assert.deepEqual(store.openUploads('backups'), [`x/${theirs}`]);
});

test('an unusable place is refused in a sentence', async () => {
  const bucket = (name: string, query = `endpoint=${store.endpoint}`) =>
    openPlace(`s3://${name}?${query}`);
  const plain = join(folder, 'plain');
  await writeFile(plain, '');
  store.failNext(/GET .*backups\/denied/, 403, 'AccessDenied');
  store.failNext(/GET .*backups\/moved/, 301, 'PermanentRedirect');
  const asked: [() => Promise<unknown>, RegExp][] = [
    [
      () => Array.fromAsync(bucket('none').list('a/')),
      /^The bucket "none": The bucket does not exist/,
    ],
    [
      () => bucket('none').read('a'),
      /^The bucket "none": The bucket does not exist; check the address\.$/,
    ],
    [() => bucket('bbb', 'endpoint=http://127.0.0.1:1').read('a'), /^The bucket "bbb": .*\.$/],
    [
      () => bucket('backups/denied').read('a'),
      /lacks the permission for this \(AccessDenied\)\. It needs s3:PutObject, .*s3:DeleteObject/,
    ],
    [
      () => bucket('backups/moved').read('a'),
      /is in another region \(.+\); check "region" in the address\.$/,
    ],
    [async () => openPlace(plain), /plain is not a folder\.$/],
    [() => openPlace('/proc/x').write('a', Readable.from(['one'])), /kernel's own/],
    [async () => openPlace(join(plain, 'x')), /plain is not a folder\.$/],
  ];
  for (const [ask, told] of asked) {
    const error = await ask().then(
      () => assert.fail(String(told)),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof UserError, String(error));
    assert.match(error.message, told);
  }
});
