import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { findDestination, destinations } from '../index.ts';
import { noop } from './noop.ts';

const deps = {
  log: silentLog(),
  outbound: openOutbound({ allow: [] }),
  export_dir: '/nowhere',
  signal: new AbortController().signal,
};
const delivery = {
  delivery_id: 'a',
  run_id: 'a',
  attempt: 1,
  batch_export_id: 'b',
  team_id: 1,
  model: 'events' as const,
  data_interval_start: '2015-09-12T00:00:00Z',
  data_interval_end: '2015-09-12T01:00:00Z',
  timezone: 'UTC',
  columns: [],
};

testDestination({
  definition: noop,
  start: async () => deps,
  stop: async () => undefined,
  configure: async () => ({ arg: 'x' }),
  readBack: async () => [],
  leftovers: async () => [],
  misconfigure: async () => [],
  invalid: [{ name: 'text is a number', change: { arg: 7 } }],
  damage: {
    changed: async () => undefined,
    value: async () => undefined,
    missing: async () => undefined,
    added: async () => undefined,
  },
  keeps_nothing: true,
  large_shown_by: 'file.test.ts',
  has_nul: true,
  recovers: true,
});

test('reads a slice to its end and keeps nothing', async () => {
  const sink = await noop.open({}, delivery, deps);
  const bytes = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(100_000)));
  const { name } = await sink.write({ number: 3, records: 1 }, bytes);
  assert.equal(name, 'slice 3');
  assert.ok(bytes.readableEnded);
  assert.equal(await sink.isCommitted(), false);
  await sink.commit([], manifest);
  await sink.abort([]);
  await sink.close();
});

test('destinations are found by the name of their type, each name once', () => {
  for (const destination of destinations)
    assert.equal(findDestination(destination.type), destination);
  assert.equal(
    new Set(destinations.map((destination) => destination.type)).size,
    destinations.length,
  );
  assert.equal(findDestination('Carrier pigeon'), undefined);
});
