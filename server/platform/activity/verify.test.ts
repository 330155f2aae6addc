import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import { openHarness } from '../../../test/harness.ts';
import { openSecrets } from '../secrets/secrets.ts';
import { appendActivity, server_actor } from './chain.ts';
import type { Actor, Chain } from './chain.ts';
import { verifyActivity } from './verify.ts';
import { aroundTests } from '../../../test/around_tests.ts';

/**
 * The two chains that every test finds: an organization's with five entries and a person's with
 * two.
 */
const [organization_id, user_uuid] = [uuidv7(), uuidv7()];
const actor = {
  user_id: 7,
  user_uuid,
  user_email: 'ann@example.com',
  key_id: uuidv7(),
  key_mask: 'slk_...abcd',
  session_id: uuidv7(),
  ip: '192.0.2.1',
  request_id: 'request-1',
};

async function append(
  chain: Chain,
  item_name = 'Ünïcode "name" 😀',
  by: Actor = actor,
): Promise<void> {
  const changes = [
    {
      field: 'name',
      action: 'changed',
      before: 'a',
      after: { deep: ['\u2028', 1e21, null] },
    } as const,
  ];
  const activity = { activity: 'updated', scope: 'project', item_id: '1', item_name, changes };
  await harness.deps.db.transaction((tx) =>
    appendActivity(tx, harness.deps.secrets, chain, by, activity),
  );
}

const harness = aroundTests(
  () => openHarness({ clickhouse: false }),
  async (opened) => {
    for (let count = 0; count < 5; count += 1) await append({ organization_id });
    for (let count = 0; count < 2; count += 1)
      await append({ user_uuid }, 'own', {
        ...server_actor,
        user_uuid,
        user_id: 7,
        user_email: 'ann@example.com',
      });
    await opened.deps.db.text('CREATE TABLE kept_activity AS TABLE activity');
    await opened.deps.db.text('CREATE TABLE kept_heads AS TABLE activity_heads');
  },
);
beforeEach(async () => {
  await harness.deps.db.text('TRUNCATE activity, activity_heads');
  await harness.deps.db.text('INSERT INTO activity SELECT * FROM kept_activity');
  await harness.deps.db.text('INSERT INTO activity_heads SELECT * FROM kept_heads');
});

const verified = () => verifyActivity(harness.deps.db, harness.deps.secrets);
const owners = new Map([
  [organization_id, 'organization'],
  [user_uuid, 'person'],
]);
/** The faults as `chain number sentence`, with `organization` and `person` for the two chains. */
const faults = async () =>
  (await verified()).faults.map(
    ({ chain_id, number, detail }) => `${owners.get(chain_id) ?? 'other'} ${number} ${detail}`,
  );
const tamper = async (...statements: string[]) => {
  for (const statement of statements) {
    const { rowCount } = await harness.deps.db.text(
      statement
        .replaceAll('ORGANIZATION', `'${organization_id}'`)
        .replaceAll('PERSON', `'${user_uuid}'`),
    );
    assert.ok(rowCount !== 0, statement);
  }
};

const edited =
  'The entry is not what the server wrote here, or the head of the chain had been changed ' +
  'when it was written.';
const head_changed = 'The head of the chain was changed: entries may have been cut off its end.';
const behind_end = 'The entry comes after the end of its chain, or is not the last entry.';

test('written entries are found whole', async () => {
  assert.deepEqual(await verified(), {
    entries: 7,
    chains: 2,
    entries_changed: 0,
    faults_found: 0,
    faults: [],
  });
});

test('every column of an entry is covered', async () => {
  const { rows } = await harness.deps.db.text(
    `SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'
      AND table_name = 'activity'`,
  );
  assert.equal(rows.length, 20);
  const others: Record<string, string> = {
    uuid: 'gen_random_uuid()',
    text: `'other'`,
    json: `'[]'`,
    bigint: '77',
    integer: '8',
    bytea: `decode(repeat('ab', 32), 'hex')`,
    'timestamp with time zone': `created_at + interval '1 microsecond'`,
  };
  for (const { column_name, data_type } of rows as { column_name: string; data_type: string }[]) {
    await tamper(
      `UPDATE activity SET ${column_name} = ${others[data_type]} WHERE chain_id = ORGANIZATION
        AND number = 3`,
    );
    assert.ok(
      (await faults()).some((fault) => fault.endsWith(edited)),
      column_name,
    );
    // The whole row is put back, since the column may be what it is found by.
    await tamper('DELETE FROM activity', 'INSERT INTO activity SELECT * FROM kept_activity');
    if (
      [
        'user_id',
        'user_uuid',
        'user_email',
        'key_id',
        'key_mask',
        'session_id',
        'ip',
        'request_id',
        'item_name',
        'organization_id',
      ].includes(column_name)
    ) {
      await tamper(
        `UPDATE activity SET ${column_name} = NULL WHERE chain_id = ORGANIZATION AND number = 3`,
      );
      assert.deepEqual(await faults(), [`organization 3 ${edited}`], `${column_name} to null`);
      await tamper('DELETE FROM activity', 'INSERT INTO activity SELECT * FROM kept_activity');
    }
  }
  await tamper(
    `UPDATE activity SET changes = (changes::text || ' ')::json WHERE chain_id = PERSON
      AND number = 1`,
  );
  assert.deepEqual(await faults(), [`person 1 ${edited}`]);
});

const of = (number: number, chain = 'ORGANIZATION') => `chain_id = ${chain} AND number = ${number}`;
const copy = (columns: string, source: string) =>
  `INSERT INTO activity SELECT ${columns} FROM activity WHERE ${source}`;
const rest =
  'activity, scope, item_id, item_name, changes, user_id, user_uuid, user_email, key_id, ' +
  'key_mask, session_id, ip, request_id, created_at, previous_hash, hash';
const end_put_back =
  'UPDATE activity_heads h SET number = a.number, hash = a.hash FROM activity a WHERE ' +
  'a.chain_id = h.chain_id AND h.chain_id = ORGANIZATION AND a.number = 4';

const cases: [string, string[], string[]][] = [
  [
    'an entry in the middle is removed',
    [`DELETE FROM activity WHERE ${of(3)}`],
    ['organization 4 The entry 3 is missing.'],
  ],
  [
    'the first two are removed',
    [`DELETE FROM activity WHERE chain_id = ORGANIZATION AND number < 3`],
    ['organization 3 The entries 1 to 2 are missing.'],
  ],
  [
    'the last is removed',
    [`DELETE FROM activity WHERE ${of(5)}`],
    ['organization 4 The entry 5 is missing.'],
  ],
  [
    'the last is removed and the head put back',
    [`DELETE FROM activity WHERE ${of(5)}`, end_put_back],
    [`organization 4 ${head_changed}`],
  ],
  [
    'the last is removed and the head too',
    [
      `DELETE FROM activity WHERE ${of(5)}`,
      'DELETE FROM activity_heads WHERE chain_id = ORGANIZATION',
    ],
    ['organization 4 The head of the chain is missing.'],
  ],
  [
    'all entries are removed',
    ['DELETE FROM activity WHERE chain_id = ORGANIZATION'],
    ['organization 5 The entries 1 to 5 are missing.'],
  ],
  [
    'two entries change places',
    [
      `UPDATE activity SET number = 99 WHERE ${of(2)}`,
      `UPDATE activity SET number = 2 WHERE ${of(3)}`,
      `UPDATE activity SET number = 3 WHERE ${of(99)}`,
    ],
    [
      `organization 2 ${edited}`,
      `organization 3 ${edited}`,
      'organization 4 The entry does not follow the one before it.',
    ],
  ],
  [
    'a forged entry is added at the end',
    [
      copy(
        `gen_random_uuid(), chain_id, 6, organization_id, ${rest.replace('previous_hash', 'hash')}`,
        of(5),
      ),
    ],
    [`organization 6 ${edited}`, `organization 6 ${behind_end}`],
  ],
  [
    'a forged entry is added at the end with a head',
    [
      copy(
        `gen_random_uuid(), chain_id, 6, organization_id, ${rest.replace('previous_hash', 'hash')}`,
        of(5),
      ),
      'UPDATE activity_heads SET number = 6 WHERE chain_id = ORGANIZATION',
    ],
    [`organization 6 ${edited}`, `organization 6 ${head_changed}`],
  ],
  [
    'an entry is moved to the end of another chain',
    [`UPDATE activity SET chain_id = PERSON, number = 3 WHERE ${of(5)}`],
    ['organization 4 The entry 5 is missing.', `person 3 ${edited}`, `person 3 ${behind_end}`],
  ],
  [
    'a head is given to another chain',
    ['UPDATE activity_heads SET chain_id = gen_random_uuid() WHERE chain_id = PERSON'],
    [`other 2 ${head_changed}`, 'person 2 The head of the chain is missing.'],
  ],
];
for (const [name, statements, expected] of cases) {
  test(`found: ${name}`, async () => {
    await tamper(...statements);
    assert.deepEqual((await faults()).sort(), expected.sort());
  });
}

test('found: an end that was cut off, also after more was written onto it', async () => {
  await tamper(`DELETE FROM activity WHERE ${of(5)}`, end_put_back);
  await append({ organization_id });
  await append({ organization_id });
  assert.deepEqual(await faults(), [`organization 5 ${edited}`]);
});

test('found: entries that were hashed under another key, each one', async () => {
  const { entries_changed, faults_found } = await verifyActivity(
    harness.deps.db,
    openSecrets('another secret of 32 characters or more'),
  );
  assert.deepEqual([entries_changed, faults_found], [7, 9]);
});

test('a text that is hashed for another purpose is no forged entry', async () => {
  const { secrets } = harness.deps;
  for (const text of ['', '["head"]', 'ann@example.com'])
    assert.notDeepEqual(secrets.hash(text), secrets.chain(text));
});

test('all of many faults are counted, and the first is kept', async () => {
  await tamper(
    `INSERT INTO activity SELECT gen_random_uuid(), chain_id, n, organization_id, ${rest}
      FROM activity, generate_series(6, 6005) n WHERE ${of(5)}`,
  );
  const { entries, faults_found, faults: kept } = await verified();
  assert.deepEqual([entries, faults_found, kept.length, kept[0]?.number], [6_007, 6_001, 1_000, 6]);
});
