import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { eventually } from '../../../../test/eventually.ts';
import { refusedEvent } from '../../../../test/factories/events/refused_events.ts';
import { storedEvents } from '../../../../test/factories/events/stored_events.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import {
  storeRefusedEvents,
  sweepRefusedEvents,
} from '../../../engine/ingest/warnings/refused_event_store.ts';
import { sharedRefusedEvents } from '../../../engine/ingest/warnings/refused_events.ts';
import { isoInstant } from '../../../platform/clock.ts';

const harness = aroundTests(openHarness);

const urlOf = ({ project }: TestOrganization) => `/api/projects/${project.id}/refused_events/`;
const list = async (home: TestOrganization, query = '') => {
  await sharedRefusedEvents(harness.deps).store();
  return (await home.ask('GET', `${urlOf(home)}${query}`)).body;
};
const send = (path: string, body: unknown) => harness.request('POST', path, { body });
const contentOf = async (home: TestOrganization, id: string) =>
  (await home.ask('GET', `${urlOf(home)}${id}/`)).body.content as string;
const storedOf = ({ project }: TestOrganization) => storedEvents(harness.deps, project.id);

test('a refused event is kept, and stored as of its own time once it is corrected', async () => {
  const home = await harness.newOrganization();
  const { api_token: key } = home.project;
  const timestamp = '2026-11-22T12:00:00.123Z';
  const sent: [string, object, object][] = [
    [
      '/batch/',
      { api_key: key, batch: [{ event: 'a', timestamp, properties: { n: 1 } }] },
      { distinct_id: 'x' },
    ],
    [
      '/v1/batch',
      { writeKey: key, batch: [{ type: 'track', event: 'b', timestamp, properties: {} }] },
      { userId: 'x' },
    ],
    ['/v1/track', { writeKey: key, event: 'c', timestamp }, { userId: 'x' }],
    ['/api/s/track', { writeKey: key, event: 'd', timestamp }, { userId: 'x' }],
    [
      '/com.snowplowanalytics.snowplow/tp2',
      { data: [{ aid: key, uid: 'x', dtm: String(Date.parse(timestamp)) }] },
      { e: 'pp' },
    ],
  ];
  for (const [path, body] of sent) assert.equal((await send(path, body)).status, 400, path);
  const { count, results } = await list(home);
  assert.equal(count, sent.length);
  assert.deepEqual(
    results.map(({ path }: { path: string }) => path).sort(),
    sent.map(([path]) => path).sort(),
  );
  for (const { id, path, detail, bytes } of results) {
    const resend = (body: object) => home.ask('POST', `${urlOf(home)}${id}/resend/`, body);
    assert.deepEqual((await resend({})).body, { id, outcome: 'refused', detail });
    const content = await contentOf(home, id);
    assert.equal(Buffer.byteLength(content), bytes);
    const corrected = JSON.parse(content);
    const lacking = sent.find(([one]) => one === path)![2];
    for (const event of corrected.batch ?? corrected.data) Object.assign(event, lacking);
    const { body } = await resend({ content: JSON.stringify(corrected) });
    assert.deepEqual(body, { id, outcome: 'stored', detail: null }, path);
  }
  assert.equal((await list(home)).count, 0);
  const stored = await storedOf(home);
  assert.deepEqual(
    stored.map(({ event, distinct_id }) => [event, distinct_id]).sort(),
    ['a', 'b', 'c', 'd', 'page_ping'].map((event) => [event, 'x']),
  );
  for (const one of stored) assert.equal(one.timestamp, '2026-11-22 12:00:00.123000', one.event);
});

test('a body that is no JSON is kept unchanged, wherever it was read', async () => {
  const home = await harness.newOrganization();
  for (const blanks of [1, 100_000]) {
    const event = `{"event":"${blanks}","distinct_id":"x",${' '.repeat(blanks)}}`;
    await send('/e/', `{"api_key":"${home.project.api_token}","batch":[${event}]}`);
  }
  const { results } = await eventually('Nothing is kept.', async () => {
    const found = await list(home, '?reason=request_refused');
    return found.count === 2 && found;
  });
  for (const { id } of results) {
    const corrected = (await contentOf(home, id)).replace(/, *}/, '}');
    const answers = await Promise.all(
      [1, 2].map(() => home.ask('POST', `${urlOf(home)}${id}/resend/`, { content: corrected })),
    );
    for (const { status } of answers) assert.ok(status === 200 || status === 404);
  }
  assert.equal((await list(home)).count, 0);
  const stored = (await storedOf(home)).map(({ event }) => event);
  assert.deepEqual(stored.sort(), ['1', '100000']);
});

test('several are sent again at once, and what is refused again stays', async () => {
  const home = await harness.newOrganization();
  const { api_token: api_key } = home.project;
  await send('/batch/', { api_key, batch: [{ event: 'nobody' }, { distinct_id: 'x' }] });
  const { results } = await list(home);
  const { body } = await home.ask('POST', `${urlOf(home)}resend/`, {});
  assert.deepEqual([body.stored, body.refused, body.next_after], [0, 2, null]);
  assert.equal((await list(home)).count, 2);
  // As a later release might take it.
  const [{ id }] = results;
  const content = Buffer.from(JSON.stringify({ batch: [{ event: 'later', distinct_id: 'x' }] }));
  const row = refusedEvent(home.project.id, { content });
  await storeRefusedEvents(harness.deps.db, [row]);
  const again = await home.ask('POST', `${urlOf(home)}resend/`, { after: id });
  assert.deepEqual(again.body.results, [{ id: row.id, outcome: 'stored', detail: null }]);
  assert.deepEqual(
    (await storedOf(home)).map(({ event }) => event),
    ['later'],
  );
});

test('only so much of a project and day is kept, and only for some days', async () => {
  const { deps } = harness;
  const [home, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const day = Date.parse('2026-11-20T00:00:00Z');
  const rows = (team_id: number, at: number, count: number) =>
    Array.from({ length: count }, (_none, index) =>
      refusedEvent(team_id, {
        received_at: isoInstant(at + index),
        content: Buffer.alloc(4 * 1024 * 1024, 'x'),
      }),
    );
  await storeRefusedEvents(deps.db, [
    ...rows(home.project.id, day, 3),
    ...rows(other.project.id, day, 1),
    ...rows(home.project.id, day - 1, 1),
  ]);
  await storeRefusedEvents(deps.db, rows(home.project.id, day + 10, 4));
  const counts = async () => [(await list(home)).count, (await list(other)).count];
  assert.deepEqual(await counts(), [6, 1]);
  await sweepRefusedEvents(deps.db, 7, day + 7 * 24 * 3_600_000);
  assert.deepEqual(await counts(), [5, 1]);
  const stranger = await harness.newOrganization();
  const { body } = await home.ask('GET', urlOf(home));
  const foreign = `${urlOf(stranger)}${body.results[0].id}/`;
  assert.equal((await stranger.ask('GET', foreign)).status, 404);
  assert.equal((await stranger.ask('POST', `${foreign}resend/`, {})).status, 404);
});

test('an event that a project or the operator does not want is not kept', async () => {
  const home = await harness.newOrganization();
  const { api_token: api_key, id } = home.project;
  await home.ask('PATCH', `/api/projects/${id}/`, { robot_events: 'drop' });
  const robot = { headers: { 'user-agent': 'Googlebot/2.1' } };
  const body = { api_key, batch: [{ event: 'robot' }] };
  await harness.request('POST', '/batch/', { ...robot, body });
  assert.equal((await list(home)).count, 0);
  const off = await openHarness({ config: { refused_events_days: 0 } });
  try {
    const there = await off.newOrganization();
    const batch = [{ event: 'nobody' }];
    await off.request('POST', '/batch/', { body: { api_key: there.project.api_token, batch } });
    await sharedRefusedEvents(off.deps).store();
    assert.equal((await there.ask('GET', urlOf(there))).body.count, 0);
  } finally {
    await off.close();
  }
});
