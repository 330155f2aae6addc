// Parses, prints and checks queries as an export does, on one core. Compares our time for the text
// with the engine's time for the printed text. npm run bench query [-- --rounds 5]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkByEngine, gateRelation } from '../server/engine/query/gate/check_by_engine.ts';
import { parseQuery, queryRelation, resolveQuery } from '../server/engine/query/query.ts';
import { querySettings } from '../server/engine/query/settings.ts';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { migrateClickHouse } from '../server/platform/clickhouse/migrate.ts';
import { openEmbeddedClickHouse } from '../server/platform/embedded/clickhouse/clickhouse.ts';
import { silentLog } from '../server/platform/log.ts';
import { readBenchOptions, tell } from './measure/figures.ts';

const options = readBenchOptions({ rounds: '3' });
const calls = 1_000;
const engine_calls = 10;
const run = {
  team_id: 1,
  selection: [
    { event_from: -Infinity, event_to: Infinity, inserted_from: 0, inserted_to: 1_700_000_000_000 },
  ],
  data_interval_end: 1_700_000_000_000,
};
const settings = querySettings({
  execution_seconds: 60,
  memory_bytes: 1_000_000_000,
  rows_to_read: 1_000_000_000,
  result_rows: 1_000_000_000,
});

const measure = (index: number) =>
  `multiIf(n > ${index}, revenue * ${index}, n < 3, revenue / 2, 0) AS m${index}`;
const queries = {
  short:
    'SELECT uuid, event, timestamp, properties.$browser AS browser FROM events WHERE event = ' +
    "'sign up'",
  typical: `SELECT e.uuid, e.event, e.timestamp, e.properties.price AS price,
    toStartOfDay(e.timestamp, 'Europe/Berlin') AS day, if(e.properties.price > 100, 'large',
    'small') AS size,
    p.properties.plan AS plan, arrayMap(x -> lower(x), splitByChar(',', e.properties.tags)) AS tags
    FROM events e LEFT JOIN persons p ON e.distinct_id = p.distinct_id
    WHERE e.event IN ('purchase', 'refund') AND e.properties.currency = 'EUR'
      AND e.timestamp >= '2024-01-01'`,
  large: `WITH daily AS (SELECT toDate(timestamp) AS day, event, distinct_id, count() AS n,
    sum(properties.price) AS revenue FROM events GROUP BY day, event, distinct_id)
    SELECT day, event, n,
      ${Array.from({ length: 20 }, (_unused, index) => measure(index)).join(', ')},
    row_number() OVER (PARTITION BY event ORDER BY revenue DESC) AS place FROM daily
      WHERE distinct_id IN (SELECT distinct_id FROM persons WHERE NOT is_deleted)
      ORDER BY day, place`,
};

/** Milliseconds of one call in each round: the mean of many calls after a warm-up. */
async function milliseconds(times: number, work: () => unknown): Promise<number[]> {
  const found: number[] = [];
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    const began = performance.now();
    for (let count = 0; count < times; count += 1) {
      const result = work();
      if (result instanceof Promise) await result;
    }
    found.push((performance.now() - began) / times);
  }
  return found.slice(1);
}

const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
const store = await openEmbeddedClickHouse({ folder, log: silentLog() });
const clickhouse = openClickHouse(store.url, { application: 'sluice-bench' });
try {
  await migrateClickHouse(
    clickhouse,
    fileURLToPath(new URL('../migrations/clickhouse', import.meta.url)),
  );
  for (const [name, text] of Object.entries(queries)) {
    const query = resolveQuery(text, { model: 'events' });
    const relation = queryRelation(query, run);
    const steps: [string, number, () => unknown][] = [
      ['parse', calls, () => parseQuery(text)],
      ['parse and resolve', calls, () => resolveQuery(text, { model: 'events' })],
      ['print for a run', calls, () => queryRelation(query, run)],
      ['gate before a run', engine_calls, () => gateRelation({ clickhouse, settings }, relation)],
      ['all checks', engine_calls, () => checkByEngine({ clickhouse, settings }, query)],
    ];
    for (const [step, times, work] of steps)
      tell({
        what: `A ${name} query (${text.length} characters): ${step}`,
        unit: 'ms',
        better: 'less',
        ours: await milliseconds(times, work),
      });
  }
} finally {
  await clickhouse.close();
  await store.stop();
  await rm(folder, { recursive: true, force: true });
}
