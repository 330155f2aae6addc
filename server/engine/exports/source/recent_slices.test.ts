import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { createClient } from '@clickhouse/client';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { joinReplicas } from '../../../platform/clickhouse/topology/replicas.ts';
import { models } from '../../model/models/index.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import { streamSliceOnce } from './recent_slices.ts';
import { streamSlice } from './source.ts';

const stores = aroundTests(openTestClickHouse);

const reading = {
  team_id: 1,
  text: 'events',
  parameters: {},
  order: 'inserted_at, uuid',
  key: 'uuid',
  settings: {},
  query: undefined,
} as const;
const limits = { execution_seconds: 60, memory_bytes: 1e9, rows: 1e9 };
const lines = { format: 'JSONLines', compression: null } as const;

test('slices without a reader return their connections', async () => {
  const hour = Date.parse('2026-01-01T00:00:00Z');
  await fillEvents(stores.clickhouse, { team_id: 1, events: 9, from: hour, to: hour + 3_600_000 });
  // In production there are 64.
  const few = createClient({
    url: stores.clickhouse_url,
    max_open_connections: 4,
    keep_alive: { enabled: true, idle_socket_ttl: 0 },
  });
  const joined = joinReplicas([few]);
  const store = {
    clickhouse: joined,
    query_limits: limits as never,
    query_budget: openQueryBudget(1e9),
  };
  const slice = { number: 0, inserted_from: null, inserted_to: null, records: 9, outcome: null };
  // The count exceeds the client's connections; a stream that waits gives up with the others.
  const signal = AbortSignal.timeout(60_000);
  for (let count = 0; count < 6; count += 1) {
    const stream = await streamSliceOnce(
      store,
      reading,
      slice,
      models.events.columns.files,
      lines,
      signal,
    );
    stream.destroy();
  }
  assert.equal((await joined.ping({ select: true })).success, true);
  await joined.close();
});

test('slices that are asked for together have all their bytes, small and large', async () => {
  const hour = Date.parse('2026-01-02T00:00:00Z');
  const { clickhouse } = stores;
  for (const [team_id, events] of [
    [2, 20],
    [3, 1_000],
  ] as const) {
    await fillEvents(clickhouse, { team_id, events, from: hour, to: hour + 3_600_000 });
    const store = {
      clickhouse,
      query_limits: limits as never,
      query_budget: openQueryBudget(1e9),
    };
    const own = { ...reading, team_id, text: `(SELECT * FROM events WHERE team_id = ${team_id})` };
    const slice = { number: 0, inserted_from: null, inserted_to: null, outcome: null };
    const signal = AbortSignal.timeout(60_000);
    const columns = models.events.columns.files;
    const read = async (open: typeof streamSlice) =>
      (
        await buffer(await open(store, own, { ...slice, records: events }, columns, lines, signal))
      ).toString('latin1');
    const expected = await read(streamSlice);
    assert.equal(expected.length > 256 * 1024, events === 1_000);
    const found = await Promise.all([1, 2, 3].map(() => read(streamSliceOnce)));
    assert.deepEqual([...new Set(found)], [expected]);
  }
});
