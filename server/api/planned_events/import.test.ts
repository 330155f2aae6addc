import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness();

const rule = (name: string, type: string) => ({
  name,
  rules: { properties: { total: { type, pattern: '^[0-9]+$' } }, required: ['total'] },
});

test('a plan is imported, changed by the next file, and checked by ingestion', async () => {
  const home = await harness.newOrganization();
  const url = `/api/projects/${home.project.id}/planned_events/`;
  const send = (body: object, query = '') => home.ask('POST', `${url}import/${query}`, body);
  const own = await home.ask('POST', url, { event: 'kept', mode: 'refuse' });
  const plan = { events: [rule('paid', 'string'), rule('kept', 'number')] };
  const tried = await send({ plan, mode: 'refuse' }, '?validate_only=true');
  assert.deepEqual(tried.body.created, ['paid']);
  assert.equal((await home.ask('GET', url)).body.results.length, 1);
  const first = await send({ plan, mode: 'refuse' });
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(first.body, {
    created: ['paid'],
    changed: ['kept'],
    unchanged: 0,
    left_out: ['paid', 'kept'].map((event) => ({
      event,
      property: 'total',
      detail: '`pattern` is not compared.',
    })),
  });
  const { results } = (await home.ask('GET', url)).body;
  assert.deepEqual(
    results.map((one: any) => [one.event, one.mode, one.properties[0].type]),
    [
      ['kept', 'refuse', 'number'],
      ['paid', 'refuse', 'text'],
    ],
  );
  assert.equal(results[0].id, own.body.id);
  const text = JSON.stringify({ events: [rule('paid', 'integer')] });
  const { created, changed, unchanged } = (await send({ plan: text })).body;
  assert.deepEqual([created, changed, unchanged], [[], ['paid'], 0]);
  assert.equal((await send({ plan: text })).body.unchanged, 1);
  const refused = await harness.request('POST', '/batch/', {
    body: {
      api_key: home.project.api_token,
      batch: [{ event: 'paid', distinct_id: 'd', properties: { total: 'much' } }],
    },
  });
  assert.equal(refused.status, 400, refused.text);
});

test('what is no plan, and a plan that is too long, are refused', async () => {
  const home = await harness.newOrganization();
  const url = `/api/projects/${home.project.id}/planned_events/import/`;
  for (const plan of ['no JSON', { events: 3 }, 7, null])
    assert.deepEqual((await home.ask('POST', url, { plan })).body.attr, 'plan');
  const plan = Array.from({ length: 1_001 }, (_, at) => rule(`event ${at}`, 'string'));
  assert.equal((await home.ask('POST', url, { plan })).body.code, 'max_items');
});
