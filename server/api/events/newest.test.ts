import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness();

const uuids = ['1', '2', '3'].map((digit) => `01890000-0000-7000-8000-00000000000${digit}`);

test('the events that were stored last, newest first, of this project alone', async () => {
  const [home, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const url = `/api/projects/${home.project.id}/events/`;
  const list = async (query = '', headers: Record<string, string> = {}) =>
    harness.request('GET', `${url}${query}`, { key: home.key, headers });
  assert.deepEqual((await list()).body, { results: [] });
  for (const [index, uuid] of uuids.entries())
    await home.ask('POST', url, {
      events: [
        {
          uuid,
          event: `event ${index} <b>`,
          distinct_id: 'ada',
          timestamp: '2020-01-02T03:04:05.678901Z',
        },
      ],
    });
  await other.ask('POST', `/api/projects/${other.project.id}/events/`, {
    events: [{ event: 'of others', distinct_id: 'bob' }],
  });
  const { body, headers } = await list();
  assert.deepEqual(
    body.results.map((row: any) => row.uuid),
    uuids.toReversed(),
  );
  const { inserted_at, ...first } = body.results[0];
  assert.deepEqual(first, {
    uuid: uuids[2],
    event: 'event 2 <b>',
    distinct_id: 'ada',
    timestamp: '2020-01-02T03:04:05.678901Z',
  });
  assert.match(inserted_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.equal((await list('?limit=2')).body.results.length, 2);
  assert.equal((await list('', { 'if-none-match': headers['etag']! })).status, 304);
  for (const query of ['?limit=0', '?limit=101', '?limit=x'])
    assert.equal((await list(query)).status, 400, query);
});

test('the newest events by name, person and property', async () => {
  const home = await harness.newOrganization();
  const url = `/api/projects/${home.project.id}/events/`;
  const event = (name: string, distinct_id: string, properties: object) => ({
    event: name,
    distinct_id,
    properties,
  });
  await home.ask('POST', url, {
    events: [
      event('paid', 'ada', { plan: 'pro', seats: 3 }),
      event('paid', 'bob', { plan: 'free' }),
      event('seen', 'ada', { 'plan"': null }),
    ],
  });
  const listed = async (asked: Record<string, string>) => {
    const { body } = await home.ask('GET', `${url}?${new URLSearchParams(asked)}`);
    return body.results
      .map((row: any) => `${row.event} ${row.distinct_id}`)
      .toSorted((one: string, other: string) => one.localeCompare(other));
  };
  assert.deepEqual(await listed({ event: 'paid' }), ['paid ada', 'paid bob']);
  assert.deepEqual(await listed({ distinct_id: 'ada' }), ['paid ada', 'seen ada']);
  assert.deepEqual(await listed({ event: 'paid', distinct_id: 'ada' }), ['paid ada']);
  assert.deepEqual(await listed({ property: 'plan' }), ['paid ada', 'paid bob']);
  assert.deepEqual(await listed({ property: 'plan"' }), ['seen ada']);
  assert.deepEqual(await listed({ property: 'plan', value: 'pro' }), ['paid ada']);
  assert.deepEqual(await listed({ property: 'seats', value: '3' }), ['paid ada']);
  assert.deepEqual(await listed({ property: 'plan', value: "' OR 1" }), []);
  assert.equal((await home.ask('GET', `${url}?value=pro`)).status, 400);
});

test('a project counts its stored events by minute, hour and day', async () => {
  const [home, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const url = `/api/projects/${home.project.id}/events/`;
  const count = (query = '') => home.ask('GET', `${url}counts/${query}`);
  assert.deepEqual((await count()).body.results, []);
  const event = { event: 'e', distinct_id: 'd' };
  for (const { project, key } of [home, home, other])
    await harness.request('POST', `/api/projects/${project.id}/events/`, {
      key,
      body: { events: [event, event] },
    });
  const [newest] = (await home.ask('GET', url)).body.results;
  for (const [interval, length] of [
    ['minute', 16],
    ['hour', 13],
    ['day', 10],
  ] as const) {
    const range =
      interval === 'minute' ? `&after=${new Date(Date.now() - 600_000).toISOString()}` : '';
    const { body } = await count(`?interval=${interval}${range}`);
    const last = body.results.at(-1);
    assert.equal(last.start_at.slice(0, length), newest.inserted_at.slice(0, length));
    assert.match(last.start_at.slice(length), /^(T00)?(:00)*\.000000Z$/);
    const total = body.results.reduce(
      (sum: number, one: { events: number }) => sum + one.events,
      0,
    );
    assert.equal(total, 4);
  }
  for (const query of ['?interval=week', '?interval=minute', '?after=2999-01-01T00:00:00Z'])
    assert.equal((await count(query)).status, 400, query);
  const far = '?after=9999-01-01T00:00:00Z&before=9999-01-02T00:00:00Z';
  assert.deepEqual((await count(far)).body.results, []);
  const early = '?after=0001-02-01T00:00:00Z&before=0001-02-02T00:00:00Z';
  assert.deepEqual((await count(early)).body.results, []);
});
