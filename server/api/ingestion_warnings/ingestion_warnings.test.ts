import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sharedWarnings } from '../../engine/ingest/warnings/warnings.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents } from '../../../test/factories/events/stored_events.ts';
import { openTestClock } from '../../../test/factories/people/people.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const clock = openTestClock();
const harness = aroundTests(() => openHarness({ deps: { clock } }));

const urlOf = ({ project }: TestOrganization) => `/api/projects/${project.id}/`;
const list = async (home: TestOrganization, query = '') => {
  await sharedWarnings(harness.deps).store();
  const path = `${urlOf(home)}ingestion_warnings/${query}`;
  return home.ask('GET', path);
};
const reasonsOf = async (home: TestOrganization) =>
  Object.fromEntries(
    (await list(home)).body.results.map((row: { reason: string; events: number }) => [
      row.reason,
      row.events,
    ]),
  );
const send = (home: TestOrganization, body: object, headers: Record<string, string> = {}) =>
  harness.request('POST', '/batch/', {
    body: { api_key: home.project.api_token, ...body },
    headers,
  });

test('a warning shows the value that Sluice changed or refused', async () => {
  const home = await harness.newOrganization();
  const uuid = randomUUID();
  await send(home, {
    batch: [
      { event: 'late', distinct_id: 'ada', timestamp: 'yesterday', uuid },
      { event: 'nobody' },
      { event: 'good', distinct_id: 'ada' },
    ],
  });
  const { body } = await list(home);
  assert.equal(body.count, 2);
  const [missing, ignored] = body.results;
  assert.deepEqual(
    [missing.reason, missing.outcome, missing.events, missing.examples[0].event],
    ['distinct_id_missing', 'refused', 1, 'nobody'],
  );
  const { at, ...example } = ignored.examples[0];
  assert.equal(at, ignored.last_at);
  assert.deepEqual(example, {
    from: 'posthog',
    event: 'late',
    distinct_id: 'ada',
    uuid,
    sent: 'yesterday',
  });
});

test('every way in notes what it does not take', async () => {
  const home = await harness.newOrganization();
  const uuid = randomUUID();
  const once = { event: 'e', distinct_id: 'd', uuid };
  await send(home, { batch: [once] });
  await send(home, { batch: [once, once] });
  await home.ask('POST', `${urlOf(home)}events/`, {
    events: [{ event: 'e' }, { distinct_id: 'd', timestamp: 'x' }, once],
  });
  await home.ask('POST', `${urlOf(home)}events/?validate_only=true`, { events: [{ event: 'e' }] });
  const large = { text: 'x'.repeat(600_000) };
  await send(home, { batch: [{ event: 'e', distinct_id: 'd', $set: large }] });
  const basic = Buffer.from(`${home.project.api_token}:`).toString('base64');
  const headers = { authorization: `Basic ${basic}` };
  await harness.request('POST', '/v1/batch', { body: '{"batch":[', headers });
  await harness.request('POST', `/s/?api_key=${home.project.api_token}`, { body: '[]' });
  await harness.request('POST', '/batch/', { body: { batch: [{ event: 'all bad' }] }, headers });
  assert.deepEqual(await reasonsOf(home), {
    distinct_id_missing: 1,
    duplicate: 3,
    event_invalid: 2,
    feature_off: 1,
    person_too_large: 1,
    request_refused: 1,
  });
});

test('a project learns of a body that is no JSON by the key within it', async () => {
  const home = await harness.newOrganization();
  for (const length of [1, 100_000]) {
    const text = JSON.stringify({ api_key: home.project.api_token, batch: [] });
    const body = `${text.slice(0, -1)},${' '.repeat(length)}\n"a":nan}`;
    const answer = await harness.request('POST', '/batch/', { body });
    assert.match(answer.body.message, /^The body is not valid JSON: line 2, column 5\.$/);
  }
  await eventually('The refusals are not told.', async () => {
    const { request_refused } = await reasonsOf(home);
    return request_refused === 2;
  });
  const number = `{"api_key":"${home.project.api_token}","batch":[{"event":"a","distinct_id":"d"},`;
  const body = `${number}{"event":"b","distinct_id":"d","properties":{"price":NaN}}]}`;
  assert.equal((await harness.request('POST', '/batch/', { body })).status, 200);
  const [mended] = (await list(home, '?reason=invalid_number_replaced')).body.results;
  assert.deepEqual([mended.events, mended.outcome], [1, 'changed']);
  const [{ event, sent }] = mended.examples;
  assert.deepEqual([event, sent], ['b', 'properties.price: NaN']);
  const stored = await storedEvents(harness.deps, home.project.id);
  assert.deepEqual(stored.map(({ properties }) => properties).sort(), ['{"price":null}', '{}']);
});

test('hours are days when that is asked for; ranges, reasons and pages narrow', async () => {
  const home = await harness.newOrganization();
  const note = (reason: 'duplicate' | 'uuid_replaced') =>
    sharedWarnings(harness.deps).note({ team_id: home.project.id, reason, example: {} });
  note('duplicate');
  note('uuid_replaced');
  clock.pass(3 * 24 * 3_600_000);
  note('duplicate');
  clock.pass(1_000);
  const counts = async (query: string) => {
    const { body } = await list(home, query);
    return [body.count, body.results.map((row: { events: number }) => row.events).join()];
  };
  assert.deepEqual(await counts(''), [3, '1,1,1']);
  assert.deepEqual(await counts('?interval=day&reason=duplicate'), [2, '1,1']);
  assert.deepEqual(await counts('?limit=1&offset=2'), [3, '1']);
  const day_ago = new Date(clock.now() - 24 * 3_600_000).toISOString();
  assert.deepEqual(await counts(`?after=${day_ago}`), [1, '1']);
  assert.deepEqual(await counts(`?before=${day_ago}`), [2, '1,1']);
  assert.equal((await list(home, '?interval=week')).status, 400);
  const other = await harness.newOrganization();
  assert.deepEqual((await list(other)).body.results, []);
  const known = await list(home);
  const again = await harness.request('GET', `${urlOf(home)}ingestion_warnings/`, {
    key: home.key,
    headers: { 'if-none-match': known.headers['etag']! },
  });
  assert.equal(again.status, 304);
});

test('robots and internal addresses: kept, marked or dropped as the project wants', async () => {
  const home = await harness.newOrganization();
  const change = (body: object) => home.ask('PATCH', urlOf(home), body);
  const robot = { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' };
  const batch = (event: string) => ({ batch: [{ event, distinct_id: 'd' }] });
  await send(home, batch('kept'), robot);
  await change({ robot_events: 'mark' });
  await send(home, batch('marked'), robot);
  await change({
    robot_events: 'drop',
    internal_events: 'mark',
    internal_addresses: ['127.0.0.1'],
  });
  assert.equal((await send(home, batch('dropped'), robot)).status, 200);
  // As if they were stored, also where each event is told of.
  const uuid = crypto.randomUUID();
  const told = await harness.request('POST', '/i/v1/analytics/events/', {
    body: { batch: [{ event: 'dropped', distinct_id: 'd', uuid }] },
    headers: { ...robot, 'x-write-key': home.project.api_token },
  });
  assert.deepEqual(told.body, { results: { [uuid]: { result: 'ok' } } });
  const long = Array.from({ length: 200 }, () => ({
    event: 'long',
    distinct_id: 'd',
    properties: { $ip: '127.0.0.1', text: 'x'.repeat(500) },
  }));
  await send(home, { batch: [...long, { event: 'other', distinct_id: 'd' }] });
  const stored = await storedEvents(harness.deps, home.project.id);
  const marks = Object.groupBy(stored, ({ event, properties }) => {
    const { $is_robot = false, $is_internal = false } = JSON.parse(properties);
    return `${event} ${$is_robot} ${$is_internal}`;
  });
  assert.deepEqual(
    Object.entries(marks)
      .map(([mark, events]) => `${mark} ${events!.length}`)
      .sort(),
    ['kept false false 1', 'long false true 200', 'marked true false 1', 'other false false 1'],
  );
  assert.deepEqual(await reasonsOf(home), { robot_dropped: 2 });
  for (const wrong of ['10.0.0.0/33', '1', 'office', '::/x', '10.0.0.1/8/8']) {
    const answer = await change({ internal_addresses: [wrong] });
    assert.deepEqual([answer.status, answer.body.attr], [400, 'internal_addresses'], wrong);
  }
});
