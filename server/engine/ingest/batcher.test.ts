import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { arrived, carried } from './parse/carried.ts';
import { parseEvent } from './parse/parse.ts';
import {
  openAroundTests,
  open,
  newTeam,
  event,
  store,
  select,
  count,
} from '../../../test/factories/events/ingestions.ts';

openAroundTests();

type Version = {
  distinct_id: string;
  properties: string;
  person_version: number;
  created_at: string;
  inserted_at: string;
  person_id: string;
};

const versions = (teamId: number) =>
  select<Version>(
    'SELECT * FROM persons WHERE team_id = {team_id:Int64} ORDER BY distinct_id, person_version',
    teamId,
  );

test('the same uuid is one event in a batch and across batches, not across projects', async () => {
  const [one, other] = [await newTeam(), await newTeam()];
  const ingestion = open();
  const uuid = randomUUID();
  assert.deepEqual(
    await store(ingestion, one, [
      event({ uuid, event: 'first' }),
      event({ uuid, event: 'second' }),
      event(),
    ]),
    { taken: 2, duplicates: 1, refused: 0 },
  );
  assert.deepEqual(
    await store(ingestion, one, [event({ uuid: uuid.toUpperCase(), event: 'third' })]),
    { taken: 0, duplicates: 1, refused: 0 },
  );
  assert.deepEqual(await store(ingestion, other, [event({ uuid })]), {
    taken: 1,
    duplicates: 0,
    refused: 0,
  });
  const rows = await select<{ event: string }>(
    `SELECT event FROM events WHERE team_id = {team_id:Int64} AND uuid = '${uuid}'`,
    one,
  );
  assert.deepEqual(rows, [{ event: 'first' }]);
});

test('an event without a group has the same columns beside a group and alone', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  const group = event({
    event: '$groupidentify',
    properties: { $group_type: 'company', $group_key: 'a', $group_set: { plan: 'free' } },
  });
  const session = { properties: { $session_id: 's' } };
  await store(ingestion, teamId, [event({ event: 'alone', ...session })]);
  await store(ingestion, teamId, [event({ event: 'beside', ...session }), group]);
  const rows = await select<{ event: string; session_id: string; group_id: string }>(
    'SELECT event, session_id, group_id, toString(group_at) AS at, toString(group_number) AS ' +
      'number, group_set FROM events WHERE team_id = {team_id:Int64} ORDER BY event',
    teamId,
  );
  const [called, ...others] = rows.map(({ event: name, ...columns }) => ({ name, columns }));
  assert.equal(called!.columns.group_id, 'company:a');
  assert.equal(others[0]!.columns.session_id, 's');
  assert.deepEqual(others[0]!.columns, others[1]!.columns);
  assert.deepEqual(
    others.map(({ name }) => name),
    ['alone', 'beside'],
  );
});

test('an event without a session has the same columns beside a session and alone', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  const group = {
    event: '$groupidentify',
    properties: { $group_type: 'company', $group_key: 'a', $group_set: { plan: 'free' } },
  };
  const long = { $session_id: 'l', text: 'a'.repeat(20_000) };
  const sent = JSON.stringify({ event: 'c', distinct_id: 'd', properties: long });
  const { event: given } = arrived(carried(parseEvent(sent, Date.now())));
  assert.ok(given?.written);
  await store(ingestion, teamId, [event({ event: 'a' })]);
  await store(ingestion, teamId, [event(group)]);
  await store(ingestion, teamId, [
    event({ event: 'b' }),
    event({ event: 'b', properties: { $session_id: 's' } }),
  ]);
  await store(ingestion, teamId, [given]);
  const rows = await select<object>(
    'SELECT event, session_id, group_id FROM events WHERE team_id = {team_id:Int64} ' +
      'ORDER BY event, session_id',
    teamId,
  );
  assert.deepEqual(rows, [
    { event: '$groupidentify', session_id: '', group_id: 'company:a' },
    { event: 'a', session_id: '', group_id: '' },
    { event: 'b', session_id: '', group_id: '' },
    { event: 'b', session_id: 's', group_id: '' },
    { event: 'c', session_id: 'l', group_id: '' },
  ]);
});

test('two processes store each shared uuid once, and inserted_at strictly grows', async () => {
  const teamId = await newTeam();
  const processes = [
    open({ batch_rows_max: 50 }),
    open({ batch_rows_max: 50 }),
    open({ batch_rows_max: 50 }),
  ];
  const uuids = Array.from({ length: 400 }, () => randomUUID());
  const requests = Array.from({ length: 24 }, (_none, index) =>
    uuids.slice((index * 13) % 350, ((index * 13) % 350) + 40),
  );
  const results = await Promise.all(
    requests.map((wanted, index) =>
      store(
        processes[index % 3]!,
        teamId,
        wanted.map((uuid) => event({ uuid })),
      ),
    ),
  );
  const wanted = new Set(requests.flat()).size;
  assert.deepEqual(await count(teamId), { rows: wanted, uuids: wanted });
  assert.equal(
    results.reduce((sum, result) => sum + result.taken, 0),
    wanted,
  );
  assert.equal(
    results.reduce((sum, result) => sum + result.taken + result.duplicates, 0),
    24 * 40,
  );
  const batches = await select<{ at: string }>(
    'SELECT DISTINCT inserted_at AS at FROM events WHERE team_id = {team_id:Int64} ORDER BY at',
    teamId,
  );
  assert.ok(batches.length > 3);
  for (const { at } of batches) assert.match(at, /\.\d{3}000Z$/);
});

test('$set overwrites, $set_once fills, and events carry the person at their time', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  await store(ingestion, teamId, [
    event({ event: '1' }),
    event({
      event: '2',
      $set: { plan: 'free', big: 1 },
      $set_once: { plan: 'none', first: 'a' },
    }),
    event({ event: '3', $set: { plan: 'paid' }, $set_once: { first: 'b' } }),
    event({ event: '4', distinct_id: 'other' }),
  ]);
  const events = await select<{
    person_properties: string;
    person_id: string;
    distinct_id: string;
  }>(
    'SELECT person_properties, person_id, distinct_id FROM events WHERE team_id = ' +
      '{team_id:Int64} ORDER BY event',
    teamId,
  );
  assert.deepEqual(
    events.map((row) => JSON.parse(row.person_properties)),
    [{}, { plan: 'free', first: 'a', big: 1 }, { plan: 'paid', first: 'a', big: 1 }, {}],
  );
  assert.equal(
    new Set(events.filter((row) => row.distinct_id === 'd').map((row) => row.person_id)).size,
    1,
  );
  const [first, ...more] = await versions(teamId);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [first?.distinct_id, JSON.parse(first!.properties), first?.person_version],
    ['d', { plan: 'paid', first: 'a', big: 1 }, 1],
  );
  // The same values again, from another process without a cache: no new version.
  await store(open(), teamId, [
    event({ $set: { plan: 'paid' } }),
    event({ $set_once: { first: 'z' } }),
  ]);
  assert.equal((await versions(teamId)).length, 1);
  // A change from yet another process, then one from the first, whose cache must not be stale.
  await store(open(), teamId, [event({ properties: { $set: { plan: 'gone' } } })]);
  await store(ingestion, teamId, [event({ $set: { extra: true } })]);
  const all = await versions(teamId);
  assert.deepEqual(
    all.map((row) => [
      row.person_version,
      JSON.parse(row.properties).plan,
      JSON.parse(row.properties).extra,
    ]),
    [
      [1, 'paid', undefined],
      [2, 'gone', undefined],
      [3, 'gone', true],
    ],
  );
  assert.equal(new Set(all.map((row) => row.created_at)).size, 1);
  assert.equal(new Set(all.map((row) => row.inserted_at)).size, 3);
});

test('a duplicate changes no person, and large numbers of persons are exact', async () => {
  const teamId = await newTeam();
  const uuid = randomUUID();
  const exact = parseEvent(
    `{"event":"e","distinct_id":"it's \\\\ a ` +
      `'quote'","uuid":"${uuid}","$set":{"n":12345678901234567890}}`,
    0,
  );
  await store(open(), teamId, [exact.event!]);
  await store(open(), teamId, [
    event({ uuid, $set: { n: 1 } }),
    event({ distinct_id: "it's \\ a 'quote'", $set: { m: 2 } }),
  ]);
  assert.deepEqual(
    (await versions(teamId)).map((row) => [row.distinct_id, row.properties, row.person_version]),
    [
      ["it's \\ a 'quote'", '{"n":12345678901234567890}', 1],
      ["it's \\ a 'quote'", '{"n":12345678901234567890,"m":2}', 2],
    ],
  );
});

test('a batch whose persons make it large is written in several, in order', async () => {
  const teamId = await newTeam();
  const ingestion = open({ batch_bytes_max: 300 * 1024 });
  await store(ingestion, teamId, [event({ $set: { large: 'x'.repeat(20_000) } })]);
  const uuid = randomUUID();
  const sent = Array.from({ length: 60 }, (_none, index) =>
    event({ event: String(index), $set: { index } }),
  );
  assert.deepEqual(await store(ingestion, teamId, [event({ uuid }), ...sent, event({ uuid })]), {
    taken: 61,
    duplicates: 1,
    refused: 0,
  });
  const rows = await select<{ event: string; index: number | null; at: string }>(
    "SELECT event, JSONExtract(person_properties, 'index', 'Nullable(Int32)') AS index, " +
      "inserted_at AS at FROM events WHERE team_id = {team_id:Int64} AND event != 'e' ORDER BY " +
      'toInt32(event)',
    teamId,
  );
  assert.deepEqual(
    rows.map((row) => row.index),
    sent.map((_event, index) => index),
  );
  assert.deepEqual(
    rows.map((row) => row.at),
    rows.map((row) => row.at).toSorted(),
  );
  const batches = new Set(rows.map((row) => row.at)).size;
  assert.ok(batches >= 4 && batches <= 8, String(batches));
  assert.equal((await versions(teamId)).length, 1 + batches);
});
