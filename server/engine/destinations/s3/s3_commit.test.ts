import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { inDepth } from '../../../../test/depth.ts';
import type { Sink, SliceOutcome } from '../../model/destination/destination.ts';
import { receiptsOfStem, sliceName, stemOf } from '../formats/naming.ts';
import type { ObjectStore } from '../object_store/object_store.ts';
import { openObjectSink } from '../object_store/sink.ts';
import { s3 } from './s3.ts';
import { delivery, write } from '../../../../test/factories/batch_exports/object_deliveries.ts';
import {
  base,
  bucketOf,
  bucket_name,
  deps,
  keys,
  openAroundTests,
  server,
} from '../../../../test/destinations/s3_world.ts';
import { stopWhileHeld } from '../../../../test/servers/faulty_server.ts';

openAroundTests();

test('a part whose connection breaks is retried at once and by later attempts', async () => {
  const config = { ...base, prefix: 'dropped' };
  const piece = Buffer.alloc(1 << 20, 'abcdefghij');
  const pieces = () => Readable.from(Array.from({ length: 3 }, () => piece));
  const sink = await s3.open(config, delivery, deps);
  server.dropNext(/-0000.*partNumber=1/);
  const before = server.requests.length;
  const written = await sink.write({ number: 0, records: 1 }, pieces());
  assert.equal(
    server.requests.slice(before).filter((request) => request.includes('partNumber=1')).length,
    2,
  );
  for (let times = 0; times < 3; times += 1) server.dropNext(/-0001.*partNumber=1/);
  await assert.rejects(
    sink.write({ number: 1, records: 1 }, pieces()),
    isPassing('connection_lost'),
  );
  await sink.commit([{ number: 0, ...written, records: 1, bytes: 3 << 20, sha256: '' }], manifest);
  assert.deepEqual(
    Buffer.concat((await (await bucketOf(config).read(written.name))?.toArray()) ?? []),
    Buffer.concat([piece, piece, piece]),
  );
  await sink.abort([]);
  assert.deepEqual(
    server.openUploads(bucket_name).filter((key) => key.startsWith('dropped')),
    [],
  );
});

test('a store that does not answer is left at once on a stop, and all is closed', async () => {
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
    const sink = await s3.open(config, delivery, { ...deps, signal: stop.signal });
    const outcome = await write(sink);
    await stopWhileHeld(server, pattern, stop, () => wait(sink, outcome));
    await assert.rejects(s3.open(config, delivery, { ...deps, signal: stop.signal }), /stopped/);
    const after = server
      .openUploads(bucket_name)
      .filter((key) => key.startsWith(`${config.prefix}/`));
    assert.deepEqual(after, [outcome.name], String(pattern));
    await (await s3.open(config, delivery, deps)).abort([]);
  }
});

test('commit ends unknown uploads, and needs no listing to succeed', async () => {
  const config = { ...base, prefix: 'unknown-uploads' };
  const sink = await s3.open(config, delivery, deps);
  const outcome = await write(sink);
  // As a lost answer to CreateMultipartUpload or a fenced worker leaves it.
  await bucketOf(config).startUpload(outcome.name, { mark: 'other', content_type: 'text/plain' });
  await sink.commit([outcome], manifest);
  assert.deepEqual(
    server.openUploads(bucket_name).filter((key) => key.startsWith('unknown-uploads')),
    [],
  );
  for (let times = 0; times < 3; times += 1) server.failNext(/^GET .*list-type/, 503, 'SlowDown');
  await sink.commit([outcome], manifest);
});

test('commit puts no manifest when an object is gone again', async () => {
  const config = { ...base, prefix: 'gone' };
  const bucket = bucketOf(config);
  const first = sliceName(
    config.prefix,
    delivery,
    { number: 0 },
    { format: 'JSONLines', compression: null },
  );
  // Another worker that aborts removes what is completed already.
  const disturbed: ObjectStore = {
    ...bucket,
    completeUpload: async (key, id, parts, facts) => {
      const isCompleted = await bucket.completeUpload(key, id, parts, facts);
      if (key !== first) await bucket.remove(first);
      return isCompleted;
    },
  };
  const sink = openObjectSink(disturbed, config, delivery, deps.log);
  const outcomes = [await write(sink), await write(sink, 1)];
  await assert.rejects(sink.commit(outcomes, manifest), isPassing('slice_lost'));
  assert.deepEqual(await keys(config), [outcomes[1]?.name]);
});

test('a receipt of any size, under either name, says that its delivery is there', async () => {
  const config = { ...base, prefix: 'long' };
  const sink = await s3.open(config, delivery, deps);
  const filler = 'x'.repeat(inDepth(9, 66) * 1024 * 1024);
  for (const name of receiptsOfStem(stemOf(config.prefix, delivery))) {
    assert.equal(await sink.isCommitted(), false);
    await bucketOf(config).put(
      name,
      `{"version":1,"delivery_id":"${delivery.delivery_id}","filler":"${filler}"}`,
    );
    assert.equal(await sink.isCommitted(), true);
    await bucketOf(config).remove(name);
  }
});
