import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { erasing } from '../../../../test/factories/events/erasures.ts';
import { openHarness } from '../../../../test/harness.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { countEvents } from '../../ingest/catalogue/count_events.ts';

const harness = aroundTests(() => openHarness());
const { ask, send, work } = erasing(() => ({ harness }));

test('an erasure takes names of the event catalogue that name the person', async () => {
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'paid', distinct_id: 'ada@x.org', properties: { total: 1, 'of ada@x.org': 1 } },
    { event: 'paid', distinct_id: 'bob@x.org', properties: { total: 2 } },
    { event: 'mail to ada@x.org', distinct_id: 'ada@x.org', properties: { total: 3 } },
  ]);
  await countEvents(harness.deps, new AbortController().signal, 60_000);
  const names = async () => {
    const [events, properties] = await Promise.all(
      ['', 'properties/'].map((path) => ask(home, 'GET', `event_catalogue/${path}`)),
    );
    const told = [...events!.body.results, ...properties!.body.results];
    return told.map((one) => `${one.event ?? one.property} ${one.events}`).toSorted();
  };
  const before = ['mail to ada@x.org 1', 'of ada@x.org 1', 'paid 2', 'total 3'];
  assert.deepEqual(await names(), before);
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  await work(home, body.id);
  assert.deepEqual(await names(), ['paid 2', 'total 2']);
});

test('it takes types and properties of groups that name the person too', async () => {
  const home = await harness.newOrganization();
  const call = (type: string) => ({
    event: '$groupidentify',
    distinct_id: 'bob@x.org',
    properties: { $group_type: type, $group_key: 'k', $group_set: { 'of ada@x.org': 1, plan: 1 } },
  });
  await send(home, [
    call('company'),
    call('home of ada@x.org'),
    { event: 'e', distinct_id: 'ada@x.org' },
  ]);
  await countEvents(harness.deps, new AbortController().signal, 60_000);
  const names = async () =>
    harness.deps.db.rows<object>(sql`SELECT group_type, property FROM event_catalogue_groups
      WHERE team_id = ${home.project.id}`);
  assert.equal((await names()).length, 4);
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['ada@x.org'] });
  await work(home, body.id);
  assert.deepEqual(await names(), [{ group_type: 'company', property: 'plan' }]);
});
