import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyExports } from '../../server/engine/exports/verification/verify_exports.ts';
import { aroundTests } from '../around_tests.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import { openDeliveringHarness, until } from '../factories/batch_exports/delivering_harness.ts';
import { erasing } from '../factories/events/erasures.ts';
import { deliverNow } from '../made_of_events/deliver_now.ts';
import { openPostgresServer } from '../servers/databases/postgres_destination.ts';

const world = aroundTests(openDeliveringHarness, (opened) => opened.startOnce());
const postgres = aroundTests(openPostgresServer);
const { ask, send, work } = erasing(() => world);

const start = Date.UTC(2026, 0, 5, 8);
const minute = (number: number) => new Date(start + number * 60_000).toISOString();
/** A call for a company, so many minutes after the start. */
const call = (key: unknown, at: number, set: unknown, distinct_id = 'ada') => ({
  event: '$groupidentify',
  distinct_id,
  timestamp: minute(at),
  properties: { $group_type: 'company', $group_key: key, $group_set: set },
});

async function withExport(fields: object = {}) {
  const home = await world.harness.newOrganization();
  const config = { ...(await postgres.freshConfig()), table_name: 'groups' };
  const destination = { type: 'Postgres', config };
  const created = await newExport(home, { model: 'groups', destination, ...fields });
  const id = created.id as string;
  assert.deepEqual(created.primary_key, ['team_id', 'group_id']);
  assert.deepEqual(created.version_key, ['group_version']);
  const rows = async (columns: string) => {
    const found = await postgres.pool.query<Record<string, unknown>>(
      `SELECT ${columns} FROM "${config.schema}".groups ORDER BY group_id`,
    );
    return found.rows.map((row) => Object.values(row));
  };
  const requireVerified = async () => {
    const [finding] = await verifyExports(world.harness.deps.engine, id);
    assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
  };
  return { home, id, rows, requireVerified };
}

test('a late call of a group replaces no newer value', async () => {
  const { home, id, rows, requireVerified } = await withExport();
  await send(home, [
    call('acme', 10, { plan: 'pro', seats: 25 }),
    call(17, 0, {}),
    { event: 'visit', distinct_id: 'ada', properties: { $groups: { company: 'acme' } } },
  ]);
  await deliverNow(home, id);
  const shown = 'group_id, group_type, group_key, properties, created_at, is_deleted';
  const [seventeen, acme] = await rows(shown);
  assert.deepEqual(seventeen, ['company:17', 'company', '17', {}, new Date(minute(0)), false]);
  const pro = { plan: 'pro', seats: 25 };
  assert.deepEqual(acme, ['company:acme', 'company', 'acme', pro, new Date(minute(10)), false]);
  const versions = await rows('group_version::text');
  await send(home, [call('acme', 5, { plan: 'free', city: 'Bonn', seats: null }, 'bob')]);
  await deliverNow(home, id);
  assert.deepEqual((await rows(shown))[1]!.slice(3), [
    { ...pro, city: 'Bonn' },
    new Date(minute(5)),
    false,
  ]);
  const after = await rows('group_version::text');
  assert.deepEqual(after[0], versions[0]);
  assert.ok(BigInt(String(after[1])) > BigInt(String(versions[1])));
  await requireVerified();
  const { body } = await ask(home, 'GET', 'find/?group_id=company:acme');
  assert.deepEqual(
    body.records.map(
      ({ group_id, exports }: { group_id: string; exports: { state: string }[] }) => [
        group_id,
        exports[0]!.state,
      ],
    ),
    [
      ['company:acme', 'delivered'],
      ['company:acme', 'delivered'],
    ],
  );
  const { body: none } = await ask(home, 'GET', 'find/?group_id=company:nobody');
  assert.match(none.detail, /^The store has no events of group company:nobody\./);
});

test('a group loses what an erased person set, and one without calls is deleted', async () => {
  const { home, id, rows, requireVerified } = await withExport();
  await send(home, [
    call('shared', 0, { plan: 'free', name: 'Shared' }, 'bob'),
    call('shared', 5, { plan: 'pro', owner: 'Ada' }, 'ada'),
    call('whole', 1, { owner: 'Ada' }, 'ada'),
    call('other', 2, { plan: 'pro' }, 'bob'),
  ]);
  await deliverNow(home, id);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada'] });
  const done = await work(home, asked.id);
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  assert.deepEqual(await rows('group_key'), [['other']]);
  await deliverNow(home, id);
  assert.deepEqual(await rows('group_key, properties, is_deleted, created_at IS NULL'), [
    ['other', { plan: 'pro' }, false, false],
    ['shared', { plan: 'free', name: 'Shared' }, false, false],
    ['whole', {}, true, true],
  ]);
  await requireVerified();
  // A filter erases a group; the events that name it stay.
  const properties = [
    { key: '$group_type', value: 'company' },
    { key: '$group_key', value: 'shared' },
  ];
  const filter = { events: ['$groupidentify'], properties };
  const { body: second } = await ask(home, 'POST', 'erasures/', { filter });
  await work(home, second.id);
  await deliverNow(home, id);
  assert.deepEqual(await rows('group_key, properties, is_deleted'), [
    ['other', { plan: 'pro' }, false],
    ['shared', {}, true],
    ['whole', {}, true],
  ]);
  await requireVerified();
});

test('columns lose what an erased person set, and show the value below it', async () => {
  const { home, id, rows, requireVerified } = await withExport({ columns: 'typed' });
  const frozen = await ask(home, 'POST', 'schema_columns/freeze/', {
    properties: ['plan', 'owner'].map((property) => ({ source: 'group', property, type: 'text' })),
  });
  assert.deepEqual(frozen.body.frozen, ['p_plan', 'p_owner']);
  await send(home, [
    call('shared', 0, { plan: 'free', owner: 7 }, 'bob'),
    call('shared', 5, { plan: 'pro', owner: 'Ada' }, 'ada'),
    call('whole', 1, { owner: 'Ada' }, 'ada'),
  ]);
  await deliverNow(home, id);
  const shown = 'group_key, p_plan, p_owner, properties_rest, is_deleted';
  assert.deepEqual(await rows(shown), [
    ['shared', 'pro', 'Ada', {}, false],
    ['whole', null, 'Ada', {}, false],
  ]);
  const { body: asked } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada'] });
  await work(home, asked.id);
  assert.deepEqual(await rows(shown), []);
  await deliverNow(home, id);
  assert.deepEqual(await rows(shown), [
    ['shared', 'free', null, { owner: 7 }, false],
    ['whole', null, null, {}, true],
  ]);
  await requireVerified();
});

test('a call whose group cannot be used is stored with a warning', async () => {
  const { home, id, rows } = await withExport();
  await send(home, [
    call('', 0, { plan: 'lost' }),
    call({ id: 7 }, 0, { plan: 'lost' }),
    call('named', 0, ['plan']),
  ]);
  await deliverNow(home, id);
  assert.deepEqual(await rows('group_key, properties'), [['named', {}]]);
  const { results: warnings } = await until(
    () => ask(home, 'GET', 'ingestion_warnings/'),
    ({ results }) => results.length === 2,
  );
  assert.deepEqual(
    warnings
      .map(({ reason, outcome, events, examples }: Record<string, any>) => [
        reason,
        outcome,
        events,
        examples[0].sent,
      ])
      .sort(),
    [
      ['group_ignored', 'kept', 2, '$group_key: ""'],
      ['group_set_ignored', 'kept', 1, '$group_set: ["plan"]'],
    ],
  );
});
