import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countEvents } from '../../engine/ingest/catalogue/count_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness();
const { signal } = new AbortController();

const day_ms = 24 * 3_600_000;
const ago = (days: number) => new Date(Date.now() - days * day_ms).toISOString();
const send = (home: TestOrganization, events: object[]) =>
  home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events: events.map((one) => ({ distinct_id: 'ada', ...one })),
  });
const count = () => countEvents(harness.deps, signal, 60_000);
const list = async (home: TestOrganization, path = '') =>
  (await home.ask('GET', `/api/projects/${home.project.id}/event_catalogue/${path}`)).body;
const namesOf = ({ results }: { results: { event?: string; property?: string }[] }) =>
  results.map(({ event, property }) => event ?? property).join();

test('events are listed with how many, when and how many properties', async () => {
  const home = await harness.newOrganization();
  const empty = await list(home);
  assert.deepEqual(empty, {
    count: 0,
    next: null,
    previous: null,
    results: [],
    counted_until: null,
    is_counting: false,
    other_events: 0,
    other_values: 0,
  });
  const first = ago(20);
  await send(home, [
    { event: 'bought', timestamp: first, properties: { total: 9.5 } },
    { event: 'bought', properties: { total: 10, coupon: 'X' } },
    { event: 'Signed up' },
    { event: 'old', timestamp: ago(60) },
  ]);
  assert.equal((await list(home)).is_counting, true);
  await count();
  const { results, ...rest } = await list(home);
  assert.equal(namesOf({ results }), 'bought,Signed up,old');
  assert.deepEqual([rest.count, rest.is_counting], [3, false]);
  assert.ok(Date.parse(rest.counted_until) > Date.now() - 60_000);
  const [{ by_day, last_seen_at, ...bought }] = results;
  assert.deepEqual(bought, {
    event: 'bought',
    events: 2,
    events_7_days: 1,
    events_30_days: 2,
    properties: 2,
    first_seen_at: first.replace('Z', '000Z'),
  });
  assert.ok(Date.parse(last_seen_at) > Date.now() - 60_000);
  assert.equal(by_day.length, 30);
  assert.deepEqual([by_day.at(-1), by_day.at(-21), by_day.at(-2)], [1, 1, 0]);
  const { by_day: _days, ...old } = results[2];
  assert.deepEqual([old.events, old.events_30_days], [1, 0]);
});

test('lists are searched, ordered and paged', async () => {
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'B_one', properties: { x: 1, y: 1 } },
    { event: 'b%two', properties: { x: 1 } },
    { event: 'b%two', properties: { x: 'a', Z: null } },
  ]);
  await count();
  assert.equal(namesOf(await list(home, '?ordering=event')), 'B_one,b%two');
  assert.equal(namesOf(await list(home, '?ordering=-event')), 'b%two,B_one');
  assert.equal(namesOf(await list(home, '?search=B_')), 'B_one');
  assert.equal(namesOf(await list(home, '?search=%25T')), 'b%two');
  assert.equal(namesOf(await list(home, '?event=b%25two')), 'b%two');
  const paged = await list(home, '?limit=1&offset=1');
  assert.deepEqual([namesOf(paged), paged.count, paged.next], ['B_one', 2, null]);
  assert.equal(namesOf(await list(home, 'properties/')), 'x,Z,y');
  assert.equal(namesOf(await list(home, 'properties/?ordering=property&search=z')), 'Z');
  assert.equal(namesOf(await list(home, 'properties/?event=B_one')), 'x,y');
  const wrong = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/event_catalogue/?ordering=team_id`,
  );
  assert.deepEqual([wrong.status, wrong.body.attr], [400, 'ordering']);
});

test('a property has its types and the share of events that have it', async () => {
  const home = await harness.newOrganization();
  await send(home, [
    { event: 'a', properties: { x: 1 } },
    { event: 'a', properties: { x: 2 } },
    { event: 'a', properties: { x: 'two' } },
    { event: 'a' },
    { event: 'b', properties: { x: [1] } },
  ]);
  await count();
  const [x] = (await list(home, 'properties/?event=a')).results;
  assert.deepEqual(x.types, [
    { type: 'integer', events: 2 },
    { type: 'text', events: 1 },
  ]);
  assert.deepEqual([x.events, x.share], [3, 0.75]);
  const all = await list(home, 'properties/');
  assert.deepEqual([all.events, all.results[0].events, all.results[0].share], [5, 4, 0.8]);
  const stranger = await harness.newOrganization();
  assert.equal((await list(stranger, 'properties/')).count, 0);
  const foreign = `/api/projects/${home.project.id}/event_catalogue/`;
  assert.equal((await stranger.ask('GET', foreign)).status, 404);
});
