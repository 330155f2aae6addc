// Reads, prints and checks queries as an export does, on one core. What is compared is the text's
// own time, which is ours, with that of the engine's answer to the printed text. Run: node
// bench/query.ts
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

const rounds = 2_000;
const engine_rounds = 20;
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

/** Microseconds of one call, the mean of many after some to warm up. */
function microseconds(work: () => unknown): number {
  for (let round = 0; round < rounds / 4; round += 1) work();
  const began = performance.now();
  for (let round = 0; round < rounds; round += 1) work();
  return ((performance.now() - began) * 1000) / rounds;
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  await work();
  const began = performance.now();
  for (let round = 0; round < engine_rounds; round += 1) await work();
  return (performance.now() - began) / engine_rounds;
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
    const parsed = microseconds(() => parseQuery(text));
    const resolved = microseconds(() => resolveQuery(text, { model: 'events' }));
    const printed = microseconds(() => queryRelation(query, run));
    const gated = await milliseconds(() => gateRelation({ clickhouse, settings }, relation));
    const checked = await milliseconds(() => checkByEngine({ clickhouse, settings }, query));
    console.log(
      `${name} (${text.length} characters, ${relation.text.length} printed): parse ` +
        `${parsed.toFixed(0)} us, parse and resolve ${resolved.toFixed(0)} us, print for a run ` +
        `${printed.toFixed(0)} us, gate ${gated.toFixed(1)} ms, all checks ` +
        `${checked.toFixed(1)} ms`,
    );
  }
} finally {
  await clickhouse.close();
  await store.stop();
  await rm(folder, { recursive: true, force: true });
}
