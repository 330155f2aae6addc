import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@clickhouse/client';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { joinReplicas } from '../../../platform/clickhouse/topology/replicas.ts';
import { models } from '../../model/models/index.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import { streamSliceOnce } from './recent_slices.ts';

const stores = aroundTests(openTestClickHouse);

test('slices without a reader return their connections', async () => {
  const hour = Date.parse('2026-01-01T00:00:00Z');
  await fillEvents(stores.clickhouse, { team_id: 1, events: 9, from: hour, to: hour + 3_600_000 });
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
      { format: 'JSONLines', compression: null },
      signal,
    );
    stream.destroy();
  }
  assert.equal((await joined.ping({ select: true })).success, true);
  await joined.close();
});
