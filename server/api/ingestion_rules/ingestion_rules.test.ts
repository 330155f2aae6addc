import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { sharedRuleCounts, sweepRuleCounts } from '../../engine/ingest/rules/rule_counts.ts';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness();

const urlOf = ({ project }: TestOrganization) => `/api/projects/${project.id}/`;
const rulesOf = (home: TestOrganization) => `${urlOf(home)}ingestion_rules/`;
async function newRule(home: TestOrganization, fields: object) {
  const created = await home.ask('POST', rulesOf(home), { name: 'One', ...fields });
  assert.equal(created.status, 201, created.text);
  return created.body;
}
async function tried(home: TestOrganization, event: object | string, user_agent?: string) {
  const text = typeof event === 'string' ? event : JSON.stringify(event);
  const answer = await home.ask('POST', `${rulesOf(home)}try/`, { event: text, user_agent });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
const propertiesOf = async (home: TestOrganization) =>
  (await storedEvents(harness.deps, home.project.id)).map(({ event, properties }) => [
    event,
    properties,
  ]);
async function countsOf(home: TestOrganization): Promise<Record<string, number>> {
  await sharedRuleCounts(harness.deps).store();
  const { body } = await home.ask('GET', `${rulesOf(home)}counts/`);
  return Object.fromEntries(
    body.results.map(({ source, events }: { source: string; events: number }) => [source, events]),
  );
}
const key = (home: TestOrganization) => home.project.api_token;
const basic = (home: TestOrganization) => ({
  authorization: `Basic ${Buffer.from(`${key(home)}:`).toString('base64')}`,
});

/** The text around an event by each way in, by the name under which it is stored. */
const ways: Record<string, [path: string, type: string, head: string, tail: string]> = {
  posthog: ['/batch/', 'json', '{"batch":[', ']}'],
  posthog_long: ['/batch/', 'json', '{"batch":[', ']}'],
  segment: ['/v1/track', 'json', '', ''],
  lines: ['events/', 'x-ndjson', '', '\n'],
  lines_long: ['events/', 'x-ndjson', '', '\n'],
  list: ['events/', 'json', '{"events":[', ']}'],
  list_long: ['events/', 'json', '{"events":[', ']}'],
};
async function sendBy(home: TestOrganization, name: string, properties: string) {
  const [path, type, head, tail] = ways[name]!;
  const who = path === '/v1/track' ? 'userId' : 'distinct_id';
  // A long body is read in a thread.
  const pad = 'x'.repeat(name.endsWith('_long') ? 70_000 : 1);
  const event = `{"pad":"${pad}","event":"${name}","${who}":"d","properties":${properties}}`;
  const is_own = path === 'events/';
  const sent = await harness.request('POST', is_own ? `${urlOf(home)}events/` : path, {
    body: `${head}${event}${tail}`,
    ...(is_own ? { key: home.key } : {}),
    headers: { 'content-type': `application/${type}`, ...(is_own ? {} : basic(home)) },
  });
  assert.equal(sent.status, 200, `${name} ${sent.text}`);
}

test('by every way in, a value is hashed before anything is stored, and numbers stay', async () => {
  const home = await harness.newOrganization();
  const { id } = await newRule(home, { action: 'hash_property', property: 'email' });
  const wanted = await tried(home, {
    event: 'a',
    distinct_id: 'd',
    properties: { email: 'ada@example.com' },
  });
  const { email } = JSON.parse(wanted.event).properties;
  assert.match(email, /^[0-9a-f]{64}$/);
  assert.deepEqual(wanted.changed_by, [id]);
  const sent = '{"total":1.50,"large":12345678901234567890,"email":"ada@example.com"}';
  for (const name of Object.keys(ways)) await sendBy(home, name, sent);
  const stored = await propertiesOf(home);
  assert.deepEqual(stored.map(([event]) => event).toSorted(), Object.keys(ways).toSorted());
  for (const [event, text] of stored) {
    assert.ok(!text!.includes('ada@'), event);
    assert.ok(text!.startsWith('{"total":1.50,"large":12345678901234567890,'), `${event} ${text}`);
    assert.ok(text!.includes(`"email":"${email}"`), `${event} ${text}`);
  }
  assert.deepEqual(await countsOf(home), { [id]: Object.keys(ways).length });
  const other = await harness.newOrganization();
  await newRule(other, { action: 'hash_property', property: 'email' });
  const elsewhere = await tried(other, {
    event: 'a',
    distinct_id: 'd',
    properties: { email: 'ada@example.com' },
  });
  assert.notEqual(JSON.parse(elsewhere.event).properties.email, email, 'each project has a key');
});

test('a dropped event is answered as if it were stored, and counted', async () => {
  const home = await harness.newOrganization();
  const { id } = await newRule(home, { action: 'drop_event', events: ['debug*'] });
  const batch = ['debug 1', 'kept', 'debug 2'].map((event) => ({ event, distinct_id: 'd' }));
  const body = { api_key: key(home), batch };
  assert.equal((await harness.request('POST', '/batch/', { body })).status, 200);
  const all = { api_key: key(home), batch: batch.slice(0, 1) };
  assert.equal((await harness.request('POST', '/batch/', { body: all })).status, 200);
  const uuid = randomUUID();
  const told = await harness.request('POST', '/i/v1/analytics/events/', {
    body: { batch: [{ event: 'debug', distinct_id: 'd', uuid }] },
    headers: { 'x-write-key': key(home) },
  });
  assert.deepEqual(told.body, { results: { [uuid]: { result: 'ok' } } });
  const sent = await home.ask('POST', `${urlOf(home)}events/`, { events: batch });
  assert.deepEqual(
    [sent.status, sent.body.taken, sent.body.dropped, sent.body.rejected],
    [200, 1, 2, 0],
  );
  assert.deepEqual(await countsOf(home), { [id]: 6 });
  assert.deepEqual(
    (await propertiesOf(home)).map(([event]) => event),
    ['kept', 'kept'],
  );
  const checked = await home.ask('POST', `${urlOf(home)}events/?validate_only=true`, {
    events: batch,
  });
  assert.equal(checked.body.dropped, 2);
  assert.deepEqual(await countsOf(home), { [id]: 6 }, 'a check counts nothing');
});

test('a person gets what the rules leave, and merges go by what was sent', async () => {
  const home = await harness.newOrganization();
  await newRule(home, { action: 'drop_property', property: 'email' });
  await newRule(home, { action: 'drop_property', property: '$anon_distinct_id' });
  await newRule(home, { action: 'rename_property', property: 'Plan', new_name: 'plan' });
  await newRule(home, { action: 'set_property', property: 'source', value: 7, target: 'person' });
  const body = (event: string, distinct_id: string, properties: object) => ({
    body: { api_key: key(home), event, distinct_id, properties },
  });
  await harness.request('POST', '/e/', body('seen', 'browser-1', {}));
  const $set = { email: 'ada@example.com', Plan: 'team' };
  const merging = { $anon_distinct_id: 'browser-1', $set };
  await harness.request('POST', '/e/', body('$identify', 'ada', merging));
  await harness.request('POST', '/e/', body('seen', 'browser-1', {}));
  const events = await storedEvents(harness.deps, home.project.id);
  const last = events.findLast(({ event }) => event === 'seen')!;
  const { plan, source, email } = JSON.parse(last.person_properties);
  assert.deepEqual([plan, source, email], ['team', 7, undefined]);
});

test('a change holds within a second or so, in its order, and tells who changed it', async () => {
  const home = await harness.newOrganization();
  const first = await newRule(home, {
    name: 'First',
    action: 'set_property',
    property: 'a',
    value: 1,
  });
  const second = await newRule(home, {
    name: 'Second',
    action: 'set_property',
    property: 'a',
    value: 2,
  });
  assert.deepEqual([first.position, second.position], [1, 2]);
  const now = async () => {
    const event = randomUUID();
    await home.ask('POST', `${urlOf(home)}events/`, { events: [{ event, distinct_id: 'd' }] });
    const stored = await storedEvents(harness.deps, home.project.id);
    return JSON.parse(stored.find((one) => one.event === event)!.properties).a;
  };
  assert.equal(await now(), 2);
  const ordered = await home.ask('POST', `${rulesOf(home)}order/`, { ids: [second.id, first.id] });
  assert.deepEqual(
    ordered.body.results.map(({ name, position }: any) => `${name} ${position}`),
    ['Second 1', 'First 2'],
  );
  await eventually('The order does not hold.', async () => (await now()) === 1);
  const disabled = await home.ask('PATCH', `${rulesOf(home)}${first.id}/`, { enabled: false });
  assert.equal(disabled.status, 200);
  await eventually('The rule is not off.', async () => (await now()) === 2);
  assert.equal((await home.ask('DELETE', `${rulesOf(home)}${second.id}/`)).status, 204);
  await eventually('The rule is not gone.', async () => (await now()) === undefined);
  for (const ids of [[], [first.id, first.id], [randomUUID()]])
    assert.equal((await home.ask('POST', `${rulesOf(home)}order/`, { ids })).status, 400);
  const log = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?scope=ingestion_rule`,
  );
  assert.deepEqual(
    log.body.results.map(({ activity }: any) => activity),
    ['deleted', 'updated', 'ordered', 'created', 'created'],
  );
});

test('changes at once get own positions, and one of two old changes is refused', async () => {
  const home = await harness.newOrganization();
  const made = await Promise.all(
    Array.from({ length: 8 }, () => newRule(home, { action: 'drop_event', events: ['x'] })),
  );
  assert.deepEqual(made.map(({ position }) => position).toSorted(), [1, 2, 3, 4, 5, 6, 7, 8]);
  const url = `${rulesOf(home)}${made[0].id}/`;
  const etag = (await home.ask('GET', url)).headers['etag']!;
  const both = await Promise.all(
    ['a', 'b'].map((name) => home.ask('PATCH', url, { name }, { 'if-match': etag })),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
});

test('what a rule cannot be is told at its field', async () => {
  const home = await harness.newOrganization();
  const wrong: [fields: object, attr: string][] = [
    [{ action: 'drop_property' }, 'property'],
    [{ action: 'drop_event', property: 'a' }, 'property'],
    [{ action: 'drop_property', property: 'distinct_id' }, 'property'],
    [{ action: 'hash_property', property: '$set' }, 'property'],
    [{ action: 'hash_property', property: 'a*b' }, 'property'],
    [{ action: 'rename_property', property: 'a' }, 'new_name'],
    [{ action: 'rename_property', property: 'a', new_name: 'a' }, 'new_name'],
    [{ action: 'rename_property', property: 'a', new_name: 'uuid' }, 'new_name'],
    [{ action: 'rename_property', property: 'a*', new_name: 'b' }, 'property'],
    [{ action: 'set_property', property: '__proto__', value: 1 }, 'property'],
    [{ action: 'set_property', property: 'a' }, 'value'],
    [{ action: 'set_property', property: 'a', value: ['b'] }, 'value'],
    [{ action: 'set_property', property: 'a', value: 1, target: 'any' }, 'target'],
    [{ action: 'drop_event', events: ['*a'] }, 'events__0'],
    [{ action: 'drop_event', events: Array(101).fill('a') }, 'events'],
    [{ action: 'forget' }, 'action'],
  ];
  for (const [fields, attr] of wrong) {
    const answer = await home.ask('POST', rulesOf(home), { name: 'One', ...fields });
    assert.deepEqual([answer.status, answer.body.attr], [400, attr], JSON.stringify(fields));
  }
  const { db } = harness.deps;
  await newRule(home, { action: 'drop_event', events: ['x'] });
  await db.run(sql`
    INSERT INTO ingestion_rules (id, team_id, name, events, action, target, only_if_missing,
      enabled, position)
    SELECT gen_random_uuid(), ${home.project.id}, 'x', '{y}', 'drop_event', 'any', false, true,
      n
    FROM generate_series(2, 1000) n`);
  const full = await home.ask('POST', rulesOf(home), { name: 'One', action: 'drop_event' });
  assert.deepEqual([full.status, full.body.code], [400, 'max_items']);
});

test('an event is tried without a trace, whatever it is', async () => {
  const home = await harness.newOrganization();
  await home.ask('PATCH', urlOf(home), { fill_device_properties: true });
  const { id } = await newRule(home, { action: 'drop_event', events: ['debug'] });
  const dropped = await tried(home, { event: 'debug', distinct_id: 'd' });
  assert.deepEqual([dropped.outcome, dropped.event, dropped.changed_by], ['dropped', null, [id]]);
  const refused = await tried(home, { event: 'a' });
  assert.deepEqual([refused.outcome, refused.problems[0].attr], ['refused', 'distinct_id']);
  assert.equal((await tried(home, '{"event":')).outcome, 'refused');
  assert.equal((await tried(home, '['.repeat(90_000))).outcome, 'refused');
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/129.0.0.0 Safari/537.36';
  const told = await tried(home, '{"event":"a","distinct_id":"d","properties":{"n":1.0}}', chrome);
  assert.match(told.event, /"n": 1\.0/);
  assert.equal(JSON.parse(told.event).properties.$browser, 'Chrome');
  assert.deepEqual(told.changed_by, ['user_agent']);
  assert.deepEqual(await countsOf(home), {});
  assert.deepEqual(await propertiesOf(home), []);
});

test('counts are added to those of their hour, and removed after 90 days', async () => {
  const home = await harness.newOrganization();
  const { db, clock } = harness.deps;
  const counts = sharedRuleCounts(harness.deps);
  counts.note(home.project.id, 'one', 2);
  assert.deepEqual(await countsOf(home), { one: 2 });
  counts.note(home.project.id, 'one', 3);
  assert.deepEqual(await countsOf(home), { one: 5 });
  await sweepRuleCounts(db, clock.now() + 91 * 86_400_000);
  assert.deepEqual(await countsOf(home), {});
});
