import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Compile } from 'typebox/compile';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound.ts';
import { findDestination, destinations } from '../index.ts';
import { noop } from './noop.ts';

const deps = { log: silentLog(), outbound: openOutbound({ allow: [] }), export_dir: '/nowhere', signal: new AbortController().signal };
const delivery = {
  delivery_id: 'a',
  run_id: 'a',
  attempt: 1,
  batch_export_id: 'b',
  team_id: 1,
  model: 'events' as const,
  data_interval_start: '2015-09-12T00:00:00Z',
  data_interval_end: '2015-09-12T01:00:00Z',
  columns: [],
};

test('reads a slice to its end and keeps nothing', async () => {
  const sink = await noop.open({}, delivery, deps);
  const bytes = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(100_000)));
  const { name } = await sink.write({ number: 3, records: 1 }, bytes);
  assert.equal(name, 'slice 3');
  assert.ok(bytes.readableEnded);
  assert.equal(await sink.isCommitted(), false);
  await sink.commit([], { name: 'manifest', text: '{}' });
  await sink.abort([]);
  await sink.close();
});

test('an error of the source is thrown as it is', async () => {
  const failure = new Error('the query failed');
  const sink = await noop.open({}, delivery, deps);
  const bytes = Readable.from(
    (async function* () {
      yield Buffer.from('x');
      throw failure;
    })(),
  );
  await assert.rejects(sink.write({ number: 0, records: 1 }, bytes), (error) => error === failure);
});

test('takes one text and no other key', async () => {
  const schema = Compile(noop.config);
  assert.ok(schema.Check({}) && schema.Check({ arg: 'x' }));
  assert.ok(!schema.Check({ arg: 7 }) && !schema.Check({ other: 'x' }));
  assert.equal((await noop.check({}, [], deps))[0]?.status, 'passed');
  assert.deepEqual(await noop.verify({}, [], async function* () {}, deps), []);
});

test('destinations are found by the name of their type, each name once', () => {
  for (const destination of destinations) assert.equal(findDestination(destination.type), destination);
  assert.equal(new Set(destinations.map((destination) => destination.type)).size, destinations.length);
  assert.equal(findDestination('Carrier pigeon'), undefined);
});
