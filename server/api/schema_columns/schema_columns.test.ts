import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countEvents } from '../../engine/ingest/catalogue/count_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness();

const urlOf = ({ project }: TestOrganization, path = '') =>
  `/api/projects/${project.id}/schema_columns/${path}`;
const send = async (home: TestOrganization, properties: object[]) => {
  const events = properties.map((one) => ({ event: 'e', distinct_id: 'd', properties: one }));
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  await countEvents(harness.deps, new AbortController().signal, 60_000);
};
const times = (count: number, properties: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => properties(index));
const listed = async (home: TestOrganization, path = '') =>
  (await home.ask('GET', urlOf(home, path))).body.results;

test('types are proposed, frozen all at once, and not proposed again', async () => {
  const home = await harness.newOrganization();
  await send(home, [
    ...times(20, (index) => ({
      price: index === 7 ? 10.5 : index,
      userId: `u${index}`,
      at: '2026-11-29T20:00:00Z',
      ok: true,
      $set: { plan: 'pro' },
      mixed: index % 2 === 0 ? 1 : 'one',
    })),
    { price: 'free', user_id: 'u', rare: 1 },
    ...times(10, () => ({ user_id: 'u' })),
  ]);
  const proposals = await listed(home, 'proposals/');
  const short = proposals.map(
    (one: { property: string; type: string; column: string; misfits: number; values: number }) =>
      `${one.property} ${one.type} ${one.column} ${one.misfits}/${one.values}`,
  );
  assert.deepEqual(short, [
    'price float p_price 1/21',
    'at text p_at 0/20',
    'mixed json p_mixed 0/20',
    'ok boolean p_ok 0/20',
    'userId text p_user_id 0/20',
    'user_id text p_user_id_2 0/11',
  ]);
  assert.deepEqual(proposals[1].other_types, ['timestamp']);
  assert.deepEqual(proposals[5].namesakes, ['userId']);

  const some = await home.ask('POST', urlOf(home, 'freeze/'), {
    properties: [{ property: 'at', type: 'timestamp' }, { property: 'price' }],
  });
  assert.deepEqual(
    [some.status, some.body],
    [200, { schema_number: 1, frozen: ['p_at', 'p_price'], left_out: [] }],
  );
  const all = await home.ask('POST', urlOf(home, 'freeze/'), {});
  assert.deepEqual(all.body.frozen, ['p_mixed', 'p_ok', 'p_user_id', 'p_user_id_2']);
  assert.deepEqual(await listed(home, 'proposals/'), []);
  const none = await home.ask('POST', urlOf(home, 'freeze/'), {});
  assert.deepEqual(none.body, { schema_number: 2, frozen: [], left_out: [] });
  const [at, price] = await listed(home);
  assert.deepEqual([at.type, at.values, at.misfits, at.added_in], ['timestamp', 20, 0, 1]);
  assert.deepEqual([price.misfits, price.other_types], [1, ['json']]);
});

test('a column is widened by another one, removed, and comes back under its name', async () => {
  const home = await harness.newOrganization();
  const create = (body: object) => home.ask('POST', urlOf(home), body);
  const { body: first } = await create({ property: 'total', type: 'integer' });
  assert.equal(first.id, `${home.project.id}.event.p_total`);
  await send(
    home,
    times(10, () => ({ total: 9.99 })),
  );
  const [drifted] = await listed(home);
  assert.deepEqual([drifted.values, drifted.misfits], [10, 10]);
  assert.deepEqual(drifted.other_types, ['float', 'json']);
  const { body: wider } = await create({ property: 'total', type: 'float' });
  assert.equal(wider.column, 'p_total_float');
  const again = await create({ property: 'total', type: 'float' });
  assert.deepEqual([again.status, again.body.code, again.body.attr], [400, 'unique', 'property']);

  const one = urlOf(home, `${first.id}/`);
  assert.equal((await home.ask('DELETE', one)).status, 204);
  assert.equal((await home.ask('DELETE', one)).status, 404);
  assert.equal((await home.ask('GET', one)).body.is_filled, false);
  assert.deepEqual(
    (await listed(home, '?is_filled=true')).map(({ id }: { id: string }) => id),
    [wider.id],
  );
  const { body: back } = await create({ property: 'total', type: 'integer' });
  assert.deepEqual([back.id, back.is_filled, back.added_in], [first.id, true, 1]);
  const person = await create({ property: 'total', type: 'text', source: 'person' });
  assert.deepEqual([person.body.column, person.body.values], ['p_total', null]);
});

test('properties of groups are proposed by what calls set, and have columns', async () => {
  const home = await harness.newOrganization();
  const call = (type: string, set: object) => ({
    event: '$groupidentify',
    distinct_id: 'd',
    properties: { $group_type: type, $group_key: 'k', $group_set: set },
  });
  const events = [
    ...times(12, (index) => call('company', { plan: 'pro', seats: index })),
    ...times(11, () => call('team', { plan: 'free' })),
    { event: 'e', distinct_id: 'd', properties: { plan: 1 } },
  ];
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  await countEvents(harness.deps, new AbortController().signal, 60_000);
  type Proposal = { source: string; property: string; type: string; group_types: string[] };
  const proposed = async () =>
    ((await listed(home, 'proposals/')) as Proposal[])
      .filter(({ property }) => !property.startsWith('$'))
      .map((one) => [one.source, one.property, one.type, one.group_types]);
  assert.deepEqual(await proposed(), [
    ['group', 'plan', 'text', ['company', 'team']],
    ['group', 'seats', 'integer', ['company']],
  ]);
  const wrong = await home.ask('POST', urlOf(home, 'freeze/'), {
    properties: [{ property: 'plan' }],
  });
  assert.deepEqual([wrong.status, wrong.body.attr], [400, 'properties__0__type']);
  const { body } = await home.ask('POST', urlOf(home, 'freeze/'), {
    properties: [
      { property: 'plan', source: 'group' },
      { property: 'plan', type: 'integer' },
    ],
  });
  assert.deepEqual(body, { schema_number: 1, frozen: ['p_plan', 'p_plan'], left_out: [] });
  assert.deepEqual(await proposed(), [['group', 'seats', 'integer', ['company']]]);
  const [column] = await listed(home, '?source=group');
  assert.equal(column.id, `${home.project.id}.group.p_plan`);
  assert.deepEqual(
    [column.values, column.misfits, column.group_types],
    [23, 0, ['company', 'team']],
  );
});

test('a property without a proposal needs a type, and strangers see nothing', async () => {
  const home = await harness.newOrganization();
  const { status, body } = await home.ask('POST', urlOf(home, 'freeze/'), {
    properties: [{ property: 'a', type: 'text' }, { property: 'b' }],
  });
  assert.deepEqual([status, body.attr], [400, 'properties__1__type']);
  assert.deepEqual(await listed(home), []);
  const { body: created } = await home.ask('POST', urlOf(home), { property: 'a', type: 'text' });
  const stranger = await harness.newOrganization();
  const foreign = await stranger.ask('DELETE', urlOf(stranger, `${created.id}/`));
  assert.equal(foreign.status, 404);
  const reader = await harness.newMember(home.organization.id, 15, ['batch_export:read']);
  assert.equal((await reader.ask('POST', urlOf(home, 'freeze/'), {})).status, 403);
});
