import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { s3Contract } from '../../../../test/destinations/s3_contract.ts';
import { bucketOf } from '../../../../test/destinations/s3_world.ts';
import { startSeaweedfs, without_seaweedfs } from '../../../../test/servers/lake/seaweedfs.ts';
import type { Seaweedfs } from '../../../../test/servers/lake/seaweedfs.ts';
import type { S3Config } from '../s3/config.ts';
import { s3 } from '../s3/s3.ts';
import { partBytes } from './upload.ts';

const bucket_name = 'exports';
const deps = destinationDeps();
let seaweedfs: Seaweedfs;
const base = (): S3Config => ({
  bucket_name,
  region: 'us-east-1',
  prefix: '',
  aws_access_key_id: seaweedfs.access_key,
  aws_secret_access_key: seaweedfs.secret_key,
  endpoint_url: seaweedfs.endpoint,
});

if (without_seaweedfs !== false)
  test('SeaweedFS keeps the contract of a destination', { skip: without_seaweedfs });
else {
  testDestination(
    s3Contract({
      start: async () => {
        seaweedfs = await startSeaweedfs([bucket_name]);
        return deps;
      },
      stop: async () => {
        await deps.outbound.close();
        await seaweedfs.close();
      },
      base,
    }),
  );
  test('SeaweedFS: a new name is taken once, by one of two writers', takeNames);
  test('SeaweedFS: a large object comes in parts', sendParts);
  test('SeaweedFS: keys are listed page by page, below a prefix and behind a key', listKeys);
  test('SeaweedFS: a wrong secret and a missing bucket are told', tellFaults);
}

const read = async (key: string) =>
  Buffer.concat((await (await bucketOf(base()).read(key))?.toArray()) ?? []).toString();

async function takeNames(): Promise<void> {
  const store = bucketOf(base());
  assert.deepEqual([await store.putNew('new', 'a'), await store.putNew('new', 'b')], [true, false]);
  assert.equal(await read('new'), 'a');
  for (let round = 0; round < 20; round += 1) {
    const name = `race ${round}`;
    const both = await Promise.all(['c', 'd'].map((text) => store.putNew(name, text)));
    assert.deepEqual(both.toSorted(), [false, true]);
    assert.equal(await read(name), both[0] ? 'c' : 'd');
  }
}

async function sendParts(): Promise<void> {
  const store = bucketOf(base());
  const key = 'large';
  const facts = { mark: 'm', content_type: 'text/plain' };
  const upload = await store.startUpload(key, facts);
  const parts = [];
  for (const number of [1, 2, 3]) {
    const bytes = Buffer.alloc(number < 3 ? partBytes(number) : 5, String(number));
    parts.push(await store.uploadPart(key, upload, number, bytes, deps.signal));
  }
  const listed = await store.listParts(key, upload);
  assert.deepEqual(
    listed?.map(({ number, etag }) => ({ number, etag })),
    parts,
  );
  assert.ok(await store.completeUpload(key, upload, parts, facts));
  const { bytes, mark } = (await store.describe(key))!;
  assert.deepEqual([bytes, mark], [2 * partBytes(1) + 5, 'm']);
  assert.ok((await read(key)).endsWith('222233333'));
}

async function listKeys(): Promise<void> {
  const store = bucketOf(base());
  const names = Array.from({ length: 1_100 }, (_, n) => `many/${String(n).padStart(4, '0')}`);
  for (let at = 0; at < names.length; at += 50)
    await Promise.all(names.slice(at, at + 50).map((name) => store.put(name, 'x')));
  await store.put('many/below/1', 'x');
  const list = (options: { direct: boolean; after?: string }) =>
    Array.fromAsync(store.list('many/', options));
  assert.deepEqual(await list({ direct: false }), [...names, 'many/below/1']);
  assert.deepEqual(await list({ direct: true }), names);
  assert.deepEqual(await list({ direct: true, after: 'many/1090' }), names.slice(1_091));
}

async function tellFaults(): Promise<void> {
  const failed = async (change: object) =>
    (await s3.check({ ...base(), ...change }, [], deps)).find(({ status }) => status === 'failed')
      ?.detail;
  assert.match((await failed({ aws_secret_access_key: 'wrong' })) ?? '', /secret/);
  assert.match((await failed({ bucket_name: 'none' })) ?? '', /bucket does not exist/);
}
