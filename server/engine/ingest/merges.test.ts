import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  count,
  event,
  harness,
  newTeam,
  open,
  openAroundTests,
  select,
  store,
} from '../../../test/factories/events/ingestions.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { sharedWarnings } from './warnings/warnings.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { openIngestion } from './batcher.ts';
import { readState } from './lock.ts';
import { personId } from './persons/person.ts';

openAroundTests();

const identify = (distinct_id: string, other: string, more: object = {}) =>
  event({ event: '$identify', distinct_id, properties: { $anon_distinct_id: other }, ...more });
const force = (distinct_id: string, alias: string) =>
  event({ event: '$merge_dangerously', distinct_id, properties: { alias } });

type Row = {
  distinct_id: string;
  belongs_to: string;
  properties: string;
  is_deleted: number;
  person_version: number;
  person_distinct_id_version: number;
};

const persons = (teamId: number) =>
  select<Row>(
    `SELECT distinct_id, belongs_to, properties, is_deleted,
      toInt32(person_version) AS person_version,
      toInt32(person_distinct_id_version) AS person_distinct_id_version
    FROM persons WHERE team_id = {team_id:Int64}
    ORDER BY distinct_id, person_version DESC LIMIT 1 BY distinct_id`,
    teamId,
  );
const storedIds = async (teamId: number) =>
  Object.fromEntries(
    (
      await select<{ event: string; person_id: string }>(
        'SELECT event, person_id FROM events WHERE team_id = {team_id:Int64}',
        teamId,
      )
    ).map(({ event: name, person_id }) => [name, person_id]),
  );

test('an anonymous visitor becomes a customer, in one batch and over several', async () => {
  for (const inOne of [true, false]) {
    const teamId = await newTeam();
    const id = (distinctId: string) => personId(teamId, distinctId);
    const sent = [
      event({ event: 'before', distinct_id: 'v1', $set_once: { from: 'web', plan: 'none' } }),
      event({ event: 'own', distinct_id: 'ada', $set: { plan: 'pro' } }),
      identify('ada', 'v1', { $set: { name: 'Ada' } }),
      event({ event: 'after', distinct_id: 'v1', $set: { seen: 1 }, $unset: ['plan'] }),
    ];
    const batches = inOne ? [sent] : sent.map((one) => [one]);
    // Each by a process that knows nothing of the others.
    for (const batch of batches) await store(open(), teamId, batch);
    assert.deepEqual(await persons(teamId), [
      {
        distinct_id: 'ada',
        belongs_to: id('ada'),
        properties: '{"from":"web","name":"Ada","seen":1}',
        is_deleted: 0,
        person_version: inOne ? 1 : 3,
        person_distinct_id_version: 1,
      },
      {
        distinct_id: 'v1',
        belongs_to: id('ada'),
        properties: '{}',
        is_deleted: 1,
        person_version: inOne ? 1 : 2,
        person_distinct_id_version: inOne ? 1 : 2,
      },
    ]);
    assert.deepEqual(await storedIds(teamId), {
      before: id('v1'),
      own: id('ada'),
      $identify: id('ada'),
      after: id('ada'),
    });
  }
});

test('a refused merge is reported, and the event is still stored', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  const told = async () => {
    await sharedWarnings(harness.deps).store();
    const rows = await harness.deps.db.rows<{ reason: string; example: Record<string, string> }>(
      sql`SELECT reason, e AS example FROM ingestion_warnings, jsonb_array_elements(examples) AS e
        WHERE team_id = ${teamId} ORDER BY reason, e ->> 'sent'`,
    );
    return rows.map(({ reason, example }) => [reason, example['distinct_id'], example['sent']]);
  };
  const [first, second, third] = [
    identify('ada', 'v1'),
    identify('bob', 'v1'),
    identify('bob', '0'),
  ];
  await store(ingestion, teamId, [first, second, third]);
  await store(ingestion, teamId, [identify('bob', 'ada')]);
  const expected = [
    ['merge_of_identified', 'bob', 'ada'],
    ['merge_of_identified', 'bob', 'v1'],
    ['merge_of_illegal_id', 'bob', '0'],
  ];
  assert.deepEqual(await told(), expected);
  assert.deepEqual(await count(teamId), { rows: 4, uuids: 4 });
  // The refused ones made bob identified.
  await store(ingestion, teamId, [identify('carl', 'bob')]);
  assert.deepEqual(await told(), expected.toSpliced(1, 0, ['merge_of_identified', 'carl', 'bob']));
});

test('forced merges, each of them a batch, delay no other batch', async () => {
  const [teamId, other] = [await newTeam(), await newTeam()];
  const ingestion = open({ flushes_max: 1 });
  const order: string[] = [];
  const handIn = async (name: string, id: number, events: Parameters<typeof store>[2]) => {
    await store(ingestion, id, events);
    order.push(name);
  };
  const chain = Array.from({ length: 6 }, (_, at) => force(`v${at + 1}`, `v${at}`));
  await Promise.all([handIn('merges', teamId, chain), handIn('other', other, [event()])]);
  assert.deepEqual(order, ['other', 'merges']);
});

test('a forced merge moves everybody who belongs to a person, wherever from', async () => {
  const teamId = await newTeam();
  const ingestion = open();
  await store(ingestion, teamId, [identify('ada', 'v1'), identify('ada', 'v2')]);
  await store(open(), teamId, [identify('ada', 'v3'), force('bob', 'v1'), force('carl', 'bob')]);
  const belongs = (await persons(teamId)).map((row) => [row.distinct_id, row.belongs_to]);
  const carl = personId(teamId, 'carl');
  assert.deepEqual(
    belongs,
    ['ada', 'bob', 'carl', 'v1', 'v2', 'v3'].map((distinctId) => [distinctId, carl]),
  );
  // The process that wrote the first batch has an old idea of them, and learns.
  await store(ingestion, teamId, [event({ event: 'last', distinct_id: 'v2' })]);
  assert.equal((await storedIds(teamId))['last'], carl);
});

test('a merge that does not fit into a batch is done in the next one, whole', async () => {
  const teamId = await newTeam();
  const large = 'x'.repeat(3_000);
  await store(open({ batch_bytes_max: 10_000 }), teamId, [
    event({ distinct_id: 'v1', $set: { a: large } }),
    identify('ada', 'v1', { $set: { b: large } }),
    force('bob', 'ada'),
    event({ event: 'end', distinct_id: 'v1' }),
  ]);
  const rows = await persons(teamId);
  assert.deepEqual(
    rows.map((row) => [row.distinct_id, Object.keys(JSON.parse(row.properties))]),
    [
      ['ada', []],
      ['bob', ['a', 'b']],
      ['v1', []],
    ],
  );
  assert.equal((await storedIds(teamId))['end'], personId(teamId, 'bob'));
});

test('persons stored before merges continue, each distinct id a person', async () => {
  const teamId = await newTeam();
  const id = personId(teamId, 'v1');
  const values = [1, 2].map((person_version) => ({
    team_id: teamId,
    distinct_id: 'v1',
    person_id: id,
    properties: '{"plan":"none"}',
    person_version,
    person_distinct_id_version: 1,
    is_deleted: 0,
    created_at: '2024-01-01 00:00:00.000000',
    inserted_at: `2024-01-0${person_version} 00:00:00.000000`,
  }));
  await harness.deps.clickhouse.insert({ table: 'persons', values, format: 'JSONEachRow' });
  const mapped = () =>
    select<{ person_id: string; version: number }>(
      `SELECT person_id, toInt32(version) AS version FROM person_distinct_ids
      WHERE team_id = {team_id:Int64} AND distinct_id = 'v1' ORDER BY version`,
      teamId,
    );
  assert.deepEqual(await mapped(), [{ person_id: id, version: 1 }]);
  await store(open(), teamId, [identify('ada', 'v1')]);
  const ada = personId(teamId, 'ada');
  assert.deepEqual(await mapped(), [
    { person_id: id, version: 1 },
    { person_id: ada, version: 2 },
  ]);
  const [row] = await select<{ created: string; properties: string }>(
    `SELECT toString(created_at) AS created, properties FROM persons
    WHERE team_id = {team_id:Int64} AND distinct_id = 'ada'`,
    teamId,
  );
  assert.deepEqual(row, {
    created: '2024-01-01 00:00:00.000000',
    properties: '{"plan":"none"}',
  });
});

test('persons of a batch whose events are stored stay, even without a note', async () => {
  const teamId = await newTeam();
  const v1 = { distinct_id: 'v1' };
  await store(open(), teamId, [event({ ...v1, $set: { plan: 'none' } })]);
  const before = await persons(teamId);
  assert.equal(before.length, 1);
  // As it is when a process was killed behind its last insert.
  await harness.deps.db.run(sql`
    UPDATE ingestion_states SET batch_id = gen_random_uuid(),
      batch_ends_at = now() - interval '1 minute' WHERE team_id = ${teamId}`);
  await store(open(), teamId, [event({ event: 'next', ...v1 })]);
  assert.equal((await readState(harness.deps.db, teamId)).batch_id, null);
  assert.deepEqual(await persons(teamId), before);
});

test('persons of a batch whose events are not stored are withdrawn', async () => {
  const teamId = await newTeam();
  const { db, clickhouse, clock, log } = harness.deps;
  await store(open(), teamId, [event({ distinct_id: 'v1', $set: { plan: 'none' } })]);
  const before = await persons(teamId);
  const uuid = randomUUID();
  // Once more, v1 is of ada already, and her plan would be theirs.
  const batch = [
    event({ distinct_id: 'ada', $set: { plan: 'pro' } }),
    event({ distinct_id: 'v1', $set: { plan: 'free' } }),
    identify('ada', 'v1', { uuid }),
  ];
  let fails = true;
  const through: ClickHouse = Object.assign(Object.create(clickhouse) as ClickHouse, {
    exec: (given: Parameters<ClickHouse['exec']>[0]) => {
      if (fails && given.query.includes('INTO events')) throw new Error('The store is away.');
      return clickhouse.exec(given);
    },
  });
  const ingestion = openIngestion({
    db,
    clickhouse: through,
    clock,
    log,
    secrets: openSecrets('a secret'),
  });
  const { stored } = await ingestion.add(teamId, batch);
  assert.deepEqual(await stored, { failure: 'unavailable' });
  assert.notEqual((await readState(db, teamId)).batch_id, null);
  assert.equal((await persons(teamId)).length, 2);
  await store(open(), await newTeam(), [event()]);
  fails = false;
  // Another batch comes first, and finds the persons as they were.
  await store(ingestion, teamId, [event({ event: 'between', distinct_id: 'v1' })]);
  assert.deepEqual(await persons(teamId), before);
  await store(ingestion, teamId, batch);
  assert.deepEqual(
    (await persons(teamId)).map((row) => [row.distinct_id, row.properties]),
    [
      ['ada', '{"plan":"pro"}'],
      ['v1', '{}'],
    ],
  );
  assert.deepEqual(await count(teamId), { rows: 5, uuids: 5 });
});
