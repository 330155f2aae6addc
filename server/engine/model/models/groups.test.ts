import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { readBackgroundMigrations } from '../../../platform/background_migrations/files.ts';
import { statementsOf } from '../../../platform/clickhouse/migrate.ts';
import { every_event } from './event_filter.ts';
import { groups } from './groups.ts';

const stores = aroundTests(openTestClickHouse);
const migrations = join(import.meta.dirname, '../../../../migrations/clickhouse');

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

/** Events of an hour, of which each fiftieth is a call; `key` is ClickHouse text. */
async function fill(team_id: number, number: number, events: number, key: string): Promise<void> {
  await stores.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, properties, timestamp,
        inserted_at)
      SELECT ${team_id}, generateUUIDv4(number),
        if(number % 50 = 0, '$groupidentify', 'visit'), 'd',
        concat('{"$group_type":"company","$group_key":', toJSONString(${key}),
          ',"$group_set":{"n":', toString(number), ',"big":12345678901234567890123}}'),
        fromUnixTimestamp64Micro(toInt64(${1000 * (start + number * hour_ms)} + number), 'UTC'),
        fromUnixTimestamp64Milli(toInt64(${start + number * hour_ms} + intDiv(number, 1000)), 'UTC')
          AS inserted_at
      FROM numbers(${events})`,
  });
}

const askFor = async (team_id: number, number: number, before: string, columns: string) => {
  const { text, parameters } = groups.relation(team_id, hour(number), every_event);
  return stores.clickhouse.rows<Record<string, string>>({
    query: `${before} SELECT ${columns} FROM ${text}`,
    query_params: parameters,
  });
};

test('the calls of a group are found without reading all others', async () => {
  // Two hundred groups have calls among all events of an hour, one has a call in the next.
  await fill(1, 0, 300_000, "concat('g', toString(intDiv(number, 50) % 200))");
  await fill(1, 1, 1, "'g7'");
  await stores.clickhouse.command({ query: 'OPTIMIZE TABLE events FINAL' });
  assert.deepEqual(await askFor(1, 1, '', 'group_key, properties'), [
    { group_key: 'g7', properties: '{"big":12345678901234567890123,"n":0}' },
  ]);
  const plan = await askFor(1, 1, 'EXPLAIN indexes = 1, projections = 1', '*');
  const lines = plan.map(({ explain }) => explain!).join('\n');
  // The index that is asked last decides about a reading.
  const readings = lines
    .split('ReadFromMergeTree')
    .slice(1)
    .map((reading) => Number([...reading.matchAll(/Granules: (\d+)\/\d+/g)].at(-1)?.[1]));
  assert.ok(readings.length >= 2, lines);
  assert.ok(Math.max(...readings) <= 2, lines);
});

test('events that were stored before groups were belong to groups too', async () => {
  const { clickhouse } = stores;
  const change = (query: string) =>
    clickhouse.command({ query, clickhouse_settings: { mutations_sync: '2' } });
  await change('ALTER TABLE events DROP PROJECTION groups');
  await change('ALTER TABLE events DROP COLUMN group_set');
  await change('ALTER TABLE events DROP COLUMN group_number');
  await change('ALTER TABLE events DROP COLUMN group_at');
  await change('ALTER TABLE events DROP COLUMN group_id');
  await fill(2, 0, 200, "'old'");
  for (const statement of statementsOf(readFileSync(join(migrations, '0074_groups.sql'), 'utf8')))
    await change(statement);
  const expected = [{ group_key: 'old', properties: '{"big":12345678901234567890123,"n":150}' }];
  const made = () => askFor(2, 0, '', 'group_key, properties');
  assert.deepEqual(await made(), expected);
  const background = readBackgroundMigrations(join(migrations, 'background'));
  for (const { name, statement } of background)
    if (name.startsWith('0074_')) await change(statement.replace('{partition}', "'202601'"));
  assert.deepEqual(await made(), expected);
});
