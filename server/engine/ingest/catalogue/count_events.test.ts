import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  event,
  harness,
  newTeam,
  open,
  openAroundTests,
  store,
} from '../../../../test/factories/events/ingestions.ts';
import { countEvents } from './count_events.ts';
import { countWindow } from './count_window.ts';
import { addCounts, sweepDays } from './store.ts';
import type { ValueKind } from './value_kind.ts';

openAroundTests();

const { signal } = new AbortController();
const count = () => countEvents(harness.deps, signal, 60_000);
const eventsOf = async (team_id: number) =>
  Object.fromEntries(
    (
      await harness.deps.db.rows<{ event: string; events: number }>(
        sql`SELECT event, events FROM event_catalogue WHERE team_id = ${team_id} ORDER BY 1`,
      )
    ).map((row) => [row.event, row.events]),
  );
const kindsOf = async (team_id: number) =>
  Object.fromEntries(
    (
      await harness.deps.db.rows<{ property: string; kinds: string }>(sql`
        SELECT property, string_agg(kind || ' ' || events, ', ' ORDER BY kind) AS kinds
        FROM event_catalogue_properties WHERE team_id = ${team_id} GROUP BY 1`)
    ).map((row) => [row.property, row.kinds]),
  );
const finalOf = async (team_id: number) => {
  const row = await harness.deps.db.row<{ last: string }>(
    sql`SELECT last_inserted_at AS last FROM ingestion_states WHERE team_id = ${team_id}`,
  );
  return Date.parse(row!.last) + 1;
};

test('each JSON value has its kind, as it was written', async () => {
  const cases: [string, ValueKind][] = [
    ['null', 'null'],
    ['true', 'boolean'],
    ['0', 'integer'],
    ['-0', 'integer'],
    ['9007199254740991', 'integer'],
    ['-9007199254740993', 'long_integer'],
    ['9223372036854775807', 'long_integer'],
    ['9223372036854775808', 'large_number'],
    ['123456789012345678901234567890', 'large_number'],
    ['10.0', 'float'],
    ['9.99', 'float'],
    ['1e3', 'float'],
    ['-1.5E-7', 'float'],
    ['1e400', 'large_number'],
    ['"true"', 'text'],
    ['"007"', 'text'],
    ['"1e3"', 'text'],
    ['""', 'text'],
    ['"\\"quoted\\", {10.0}"', 'text'],
    ['"2026-11-29T20:00:00Z"', 'timestamp'],
    ['"2026-11-29T20:00:00.123456+01:00"', 'timestamp'],
    ['"2026-11-29T20:00:00"', 'text'],
    ['"2026-11-29"', 'text'],
    ['"0026-11-29T20:00:00Z"', 'text'],
    ['{"a": 10.0}', 'object'],
    ['[1e400]', 'array'],
    ['"\\ud800"', 'text'],
  ];
  const ingestion = open();
  const [alone, together] = [await newTeam(), await newTeam()];
  const properties = (text: string) =>
    `{"event":"e","distinct_id":"d","timestamp":"2026-11-29T00:00:00Z","properties":{${text}}}`;
  const { parseEvent } = await import('../parse/parse.ts');
  const parsed = (text: string) => parseEvent(properties(text), Date.now()).event!;
  const named = cases.map(([value], index) => `"v${index}":${value}`);
  // Each in a document of its own, and all in one that ClickHouse's reader gives up.
  await store(ingestion, alone, named.map(parsed));
  await store(ingestion, together, [parsed(named.join())]);
  await count();
  const expected = Object.fromEntries(cases.map(([, kind], index) => [`v${index}`, `${kind} 1`]));
  assert.deepEqual(await kindsOf(alone), expected);
  assert.deepEqual(await kindsOf(together), expected);
});

test('each event counts once, whoever counts and however often', async () => {
  const ingestion = open();
  const team_id = await newTeam();
  const { db, clickhouse } = harness.deps;
  for (const name of ['a', 'b', 'a'])
    await store(ingestion, team_id, [event({ event: name }), event({ event: name })]);
  const window = { team_id, from: 0, to: await finalOf(team_id), groups_from: 0 };
  // As processes that were both late, or did not know that the one before had come through.
  const counts = await countWindow(clickhouse, window, signal);
  await db.run(sql`INSERT INTO event_catalogue_states (team_id) VALUES (${team_id})`);
  await Promise.all([1, 2, 3].map(() => addCounts(db, counts, Date.now())));
  assert.deepEqual(await eventsOf(team_id), { a: 4, b: 2 });
  await Promise.all([count(), count()]);
  assert.deepEqual(await eventsOf(team_id), { a: 4, b: 2 });
  await store(ingestion, team_id, [event({ event: 'b' })]);
  await Promise.all([count(), count()]);
  assert.deepEqual(await eventsOf(team_id), { a: 4, b: 3 });
});

test('a long stretch is counted in windows of whole batches', async () => {
  const ingestion = open();
  const team_id = await newTeam();
  const sizes = [2, 1, 4, 2];
  for (const size of sizes)
    await store(
      ingestion,
      team_id,
      Array.from({ length: size }, () => event()),
    );
  const to = await finalOf(team_id);
  const totals = async (most: { events: number; bytes: number }) => {
    const found: number[] = [];
    for (let from = 0; from < to;) {
      const asked = { team_id, from, to, groups_from: from };
      const { total, window } = await countWindow(harness.deps.clickhouse, asked, signal, most);
      if (total === 0) break;
      found.push(total);
      from = window.to;
    }
    return found;
  };
  assert.deepEqual(await totals({ events: 3, bytes: 1_000 }), [3, 4, 2]);
  assert.deepEqual(await totals({ events: 100, bytes: 1 }), sizes);
  assert.deepEqual(await totals({ events: 100, bytes: 1_000 }), [9]);
});

test('what calls set on groups counts once, also behind an earlier release', async () => {
  const ingestion = open();
  const team_id = await newTeam();
  const call = (type: string, set: object) =>
    event({
      event: '$groupidentify',
      properties: { $group_type: type, $group_key: 'k', $group_set: set },
    });
  const { db } = harness.deps;
  const groups = async () =>
    (
      await db.rows<{ one: string }>(sql`
        SELECT concat_ws(' ', group_type, property, kind, events) AS one
        FROM event_catalogue_groups WHERE team_id = ${team_id}`)
    )
      .map(({ one }) => one)
      .toSorted();
  await store(ingestion, team_id, [
    call('company', { plan: 'pro', seats: 3 }),
    call('company', { plan: null, seats: 2.5 }),
    call('team:x', { plan: 'of no group' }),
    event({ properties: { $group_type: 'company', $group_key: 'k', $group_set: { no: 1 } } }),
  ]);
  await Promise.all([count(), count()]);
  const first = [
    'company plan null 1',
    'company plan text 1',
    'company seats float 1',
    'company seats integer 1',
  ];
  assert.deepEqual(await groups(), first);
  // A process of an earlier release counts events, and knows no groups.
  await store(ingestion, team_id, [call('team', { plan: 'pro' }), event(), event()]);
  const final = new Date(await finalOf(team_id)).toISOString();
  await db.run(sql`UPDATE event_catalogue_states SET counted_until = ${final}::timestamptz
    WHERE team_id = ${team_id}`);
  // Later calls wait for what is behind.
  await store(ingestion, team_id, [call('team', { plan: 'free' })]);
  await Promise.all([count(), count()]);
  assert.deepEqual(await groups(), [...first, 'team plan text 2']);
  assert.equal((await eventsOf(team_id))['$groupidentify'], 4);
});

test('a batch of unknown fate is not counted, and the ones before it are', async () => {
  const ingestion = open();
  const team_id = await newTeam();
  await store(ingestion, team_id, [event()]);
  await store(ingestion, team_id, [event({ event: 'doubtful' })]);
  const batch_id = '018f0000-0000-7000-8000-000000000000';
  const { db } = harness.deps;
  await db.run(
    sql`UPDATE ingestion_states SET batch_id = ${batch_id}::uuid WHERE team_id = ${team_id}`,
  );
  await count();
  assert.deepEqual(await eventsOf(team_id), { e: 1 });
  await db.run(sql`UPDATE ingestion_states SET batch_id = NULL WHERE team_id = ${team_id}`);
  await count();
  assert.deepEqual(await eventsOf(team_id), { doubtful: 1, e: 1 });
});

test('days are kept for a month, by when an event happened and not after it came in', async () => {
  const ingestion = open();
  const team_id = await newTeam();
  const day_ms = 24 * 3_600_000;
  const now = Date.now();
  const at = (days: number) => new Date(now + days * day_ms).toISOString();
  await store(
    ingestion,
    team_id,
    [-40, -31, -1, 0, 200].map((days) => event({ timestamp: at(days) })),
  );
  await count();
  const days = async () =>
    harness.deps.db.rows<{ day: string; events: number }>(sql`
      SELECT day::text, events FROM event_catalogue_days WHERE team_id = ${team_id} ORDER BY 1`);
  const on = (ago: number, events: number) => ({ day: at(ago).slice(0, 10), events });
  assert.deepEqual(await days(), [on(-31, 1), on(-1, 1), on(0, 2)]);
  await sweepDays(harness.deps.db, now + 2 * day_ms);
  assert.deepEqual(await days(), [on(-1, 1), on(0, 2)]);
});
