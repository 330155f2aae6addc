import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { every_event } from './event_filter.ts';
import { largeSessions, session_events_max, sessions } from './sessions.ts';

const stores = aroundTests(openTestClickHouse);

const hour_ms = 3_600_000;
const start = Date.UTC(2026, 0, 1);
const hour = (number: number) => [
  {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: start + number * hour_ms,
    inserted_to: start + (number + 1) * hour_ms,
  },
];

/** Events of a project, a thousand of them at each second; `id` is ClickHouse text. */
async function fill(team_id: number, events: number, id: string): Promise<void> {
  await stores.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, properties, timestamp,
        inserted_at)
      SELECT ${team_id}, generateUUIDv4(number), '$pageview', 'd',
        concat('{"$session_id":', toJSONString(${id}), '}'), inserted_at,
        fromUnixTimestamp64Milli(toInt64(${start} + 1000 * intDiv(number, 1000)), 'UTC')
          AS inserted_at
      FROM numbers(${events})`,
  });
}

const rowsOf = async (team_id: number, number: number) => {
  const { text, parameters } = sessions.relation(team_id, hour(number), every_event);
  return stores.clickhouse.rows<{ session_id: string; event_count: string | number }>({
    query: `SELECT session_id, event_count FROM ${text} ORDER BY session_id`,
    query_params: parameters,
  });
};

test('an id that never changes is left out beyond so many events, and named', async () => {
  await fill(1, session_events_max, "'null'");
  await fill(1, 3, "'own'");
  const counts = async () =>
    (await rowsOf(1, 0)).map(({ session_id, event_count }) => [session_id, Number(event_count)]);
  const large = async () => {
    const { text, parameters } = largeSessions(1, hour(0));
    return stores.clickhouse.rows({ query: `SELECT * FROM ${text}`, query_params: parameters });
  };
  assert.deepEqual(await counts(), [
    ['null', session_events_max],
    ['own', 3],
  ]);
  assert.deepEqual(await large(), []);
  await fill(1, 1, "'null'");
  assert.deepEqual(await counts(), [['own', 3]]);
  assert.deepEqual(await large(), [{ session_id: 'null' }]);
});

test('the events of a session are found without reading all others', async () => {
  // Two hours and 20,000 sessions, of which one goes on in a third hour.
  await fill(2, 200_000, 'toString(cityHash64(intDiv(number, 10)))');
  await stores.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, properties, timestamp,
        inserted_at)
      SELECT 2, generateUUIDv4(), '$pageview', 'd',
        concat('{"$session_id":"', toString(cityHash64(5)), '"}'), inserted_at,
        fromUnixTimestamp64Milli(toInt64(${start + 3 * hour_ms}), 'UTC') AS inserted_at`,
  });
  await stores.clickhouse.command({ query: 'OPTIMIZE TABLE events FINAL' });
  assert.deepEqual(
    (await rowsOf(2, 3)).map(({ event_count }) => Number(event_count)),
    [11],
  );
  const { text, parameters } = sessions.relation(2, hour(3), every_event);
  const plan = await stores.clickhouse.rows<{ explain: string }>({
    query: `EXPLAIN indexes = 1, projections = 1 SELECT * FROM ${text}`,
    query_params: parameters,
  });
  // The index that is asked last decides about a reading.
  const readings = plan
    .map(({ explain }) => explain)
    .join('\n')
    .split('ReadFromMergeTree')
    .slice(1)
    .map((reading) => [...reading.matchAll(/Granules: (\d+)\/(\d+)/g)].at(-1)!)
    .map(([, read]) => Number(read));
  assert.ok(readings.length >= 2, String(readings));
  assert.ok(Math.max(...readings) <= 6, String(readings));
});
