import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedRuleCounts } from '../../engine/ingest/rules/rule_counts.ts';
import { sharedRefusedEvents } from '../../engine/ingest/warnings/refused_events.ts';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness();

const urlOf = ({ project }: TestOrganization) => `/api/projects/${project.id}/`;
const key = (home: TestOrganization) => home.project.api_token;

test('a browser is told by its request, a server is not', async () => {
  const home = await harness.newOrganization();
  await home.ask('PATCH', urlOf(home), { fill_device_properties: true });
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/129.0.0.0 Safari/537.36';
  const send = (event: string, agent: string, properties: object) =>
    harness.request('POST', '/e/', {
      body: { api_key: key(home), event, distinct_id: 'd', properties },
      headers: { 'user-agent': agent },
    });
  await send('web', chrome, { $lib: 'web' });
  await send('server', chrome, { $lib: 'posthog-python' });
  await send('program', 'posthog-node/4', {});
  await send('own', 'posthog-node/4', { $raw_user_agent: chrome });
  await send('sent', chrome, { $browser: 'Safari' });
  const stored = await storedEvents(harness.deps, home.project.id);
  const browsers = Object.fromEntries(
    stored.map(({ event, properties }) => [event, JSON.parse(properties).$browser]),
  );
  assert.deepEqual(browsers, {
    web: 'Chrome',
    server: undefined,
    program: undefined,
    own: 'Chrome',
    sent: 'Safari',
  });
  await sharedRuleCounts(harness.deps).store();
  const { body } = await home.ask('GET', `${urlOf(home)}ingestion_rules/counts/`);
  assert.deepEqual(
    body.results.map(({ source, events }: any) => [source, events]),
    [['user_agent', 3]],
  );
});

test('the plan warns or refuses; a refused event is kept unless rules hide values', async () => {
  const home = await harness.newOrganization();
  const planned = {
    event: 'paid',
    mode: 'refuse',
    properties: [{ name: 'total', type: 'number', required: true }],
  };
  const url = `${urlOf(home)}planned_events/`;
  assert.equal((await home.ask('POST', url, planned)).status, 201);
  assert.equal((await home.ask('POST', url, planned)).body.code, 'unique');
  const twice = [...planned.properties, ...planned.properties];
  assert.equal((await home.ask('POST', url, { event: 'b', properties: twice })).status, 400);
  const valued = (values: unknown[]) => ({
    event: 'b',
    properties: [{ name: 'plan', type: 'text', required: false, values }],
  });
  for (const values of [[], [null], ['x'.repeat(201)], Array.from({ length: 101 }, (_, at) => at)])
    assert.equal((await home.ask('POST', url, valued(values))).status, 400);
  const made = await home.ask('POST', url, valued(['free', 2.5, true]));
  assert.deepEqual(made.body.properties, valued(['free', 2.5, true]).properties);
  assert.equal((await home.ask('DELETE', `${url}${made.body.id}/`)).status, 204);
  assert.deepEqual(
    (await home.ask('GET', url)).body.results.map(({ event }: { event: string }) => event),
    ['paid'],
  );
  await home.ask('PATCH', urlOf(home), { unplanned_events: 'warn' });
  const send = (events: [event: string, total: unknown][]) =>
    harness.request('POST', '/batch/', {
      body: {
        api_key: key(home),
        batch: events.map(([event, total]) => ({ event, distinct_id: 'd', properties: { total } })),
      },
    });
  assert.equal(
    (
      await send([
        ['paid', 1],
        ['paid', 'x'],
        ['other', 1],
      ])
    ).status,
    200,
  );
  const alone = await send([['paid', 'x']]);
  assert.equal(alone.status, 400, 'nothing of the request is stored');
  assert.match(alone.text, /is text, not a number/);
  const direct = await home.ask('POST', `${urlOf(home)}events/`, {
    events: [{ event: 'paid', distinct_id: 'd' }],
  });
  assert.deepEqual([direct.status, direct.body.attr], [400, 'events__0__properties__total']);
  await sharedRefusedEvents(harness.deps).store();
  const refused = await home.ask('GET', `${urlOf(home)}refused_events/?reason=off_plan_refused`);
  assert.equal(refused.body.count, 2);
  const [{ id: refused_id }] = refused.body.results;
  const again = `${urlOf(home)}refused_events/${refused_id}/resend/`;
  assert.equal((await home.ask('POST', again)).body.outcome, 'refused');
  const warnings = async () => {
    const { body } = await home.ask('GET', `${urlOf(home)}ingestion_warnings/`);
    return Object.fromEntries(body.results.map(({ reason, events }: any) => [reason, events]));
  };
  await eventually('The warnings are not there.', async () => {
    const { off_plan, off_plan_refused, event_invalid } = await warnings();
    return off_plan === 1 && off_plan_refused === 2 && event_invalid === 1;
  });
  const hiding = await harness.newOrganization();
  const dropping = { name: 'One', action: 'drop_property', property: 'email' };
  await hiding.ask('POST', `${urlOf(hiding)}ingestion_rules/`, dropping);
  const body = `{"api_key":"${key(hiding)}","batch":[{"event":"a","properties":{"email":"x"}}]}`;
  await harness.request('POST', '/batch/', { body });
  await harness.request('POST', '/batch/', { body: `${body.slice(0, -1)},"b":nan}` });
  await sharedRefusedEvents(harness.deps).store();
  const kept = await hiding.ask('GET', `${urlOf(hiding)}refused_events/`);
  assert.equal(kept.body.count, 0);
});
