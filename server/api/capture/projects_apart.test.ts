import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedEvents, storedPeople } from '../../../test/factories/events/stored_events.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { protocols } from './protocols.ts';

const harness = shareHarness({
  opened: async () => {
    two = [await harness.newOrganization(), await harness.newOrganization()];
  },
});
let two: [TestOrganization, TestOrganization];

/** The same event of the same person in the form of each protocol; it names its owner. */
const messages: Record<string, (uuid: string, owner: string) => unknown> = {
  posthog: (uuid, owner) => ({
    event: 'same',
    distinct_id: 'ada',
    uuid,
    properties: { owner, $set: { owner } },
  }),
  segment: callOf,
  rudderstack: callOf,
  jitsu: callOf,
  snowplow: (uuid, owner) => ({ e: 'se', uid: 'ada', eid: uuid, se_ca: owner }),
  opentelemetry: (uuid, owner) => {
    const said = { 'event.id': uuid, distinct_id: 'ada', 'user.id': 'ada', 'llm.owner': owner };
    const attributes = Object.entries(said).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    }));
    // Each path takes its own list.
    return {
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }],
      resourceSpans: [{ scopeSpans: [{ spans: [{ attributes }] }] }],
    };
  },
};
const lists: Record<string, string> = {
  posthog: 'batch',
  segment: 'batch',
  rudderstack: 'batch',
  snowplow: 'data',
};

function callOf(messageId: string, owner: string) {
  return { type: 'track', event: 'same', userId: 'ada', messageId, context: { owner } };
}

const uuids = '0190163d-8694-439b-aea5-';
/** Every way in: each path of each protocol with each of its methods. */
const ways = protocols.flatMap(({ name, match }) =>
  match.flatMap(({ paths, methods = ['POST'] }) =>
    paths.flatMap((path) => methods.map((method) => ({ name, path, method }))),
  ),
);

/** An event as the one way in takes it, with its key in the head. */
async function send(
  { name, path, method }: (typeof ways)[number],
  uuid: string,
  { project: { api_token } }: TestOrganization,
) {
  const one = messages[name]!(uuid, api_token) as Record<string, string>;
  const headers = { authorization: `Bearer ${api_token}` };
  if (method === 'POST') {
    const list = lists[name];
    const writeKey = name === 'segment' ? { writeKey: api_token } : {};
    const body = list === undefined ? one : { [list]: [one], ...writeKey };
    return harness.request(method, path, { headers, body });
  }
  const query = name === 'snowplow' ? one : { data: JSON.stringify(one) };
  return harness.request(method, `${path}?${new URLSearchParams(query)}`, { headers });
}

test('no way mixes events, ids or persons of two projects', async () => {
  assert.ok(ways.length > 60);
  const sent = ways.flatMap((way, at) => {
    const uuid = `${uuids}${String(at).padStart(12, '0')}`;
    // Each of them twice.
    return [...two, ...two].map(async (owner) => {
      const { status, text } = await send(way, uuid, owner);
      assert.equal(status, 200, `${way.method} ${way.path}: ${text}`);
    });
  });
  await Promise.all(sent);
  const [first, second] = two.map(({ project }) => project);
  const merge = { event: '$identify', distinct_id: 'ada', properties: { $anon_distinct_id: 'v' } };
  const body = { api_key: first!.api_token, batch: [merge] };
  assert.equal((await harness.request('POST', '/batch/', { body })).status, 200);
  for (const { id, api_token } of [first!, second!]) {
    const other = id === first!.id ? second! : first!;
    const stored = (await storedEvents(harness.deps, id)).filter(({ uuid }) =>
      uuid.startsWith(uuids),
    );
    assert.deepEqual(
      stored.map(({ uuid }) => Number(uuid.slice(-12))).sort((a, b) => a - b),
      [...ways.keys()],
    );
    for (const { properties, person_properties } of stored) {
      assert.ok(properties.includes(api_token) && !properties.includes(other.api_token));
      assert.ok(!person_properties.includes(other.api_token));
    }
  }
  assert.deepEqual(await storedPeople(harness.deps, first!.id), [['ada', 'v']]);
  assert.deepEqual(await storedPeople(harness.deps, second!.id), [['ada']]);
});

test('keys of two projects in one request are refused by every way that has a body', async () => {
  const [mine, other] = two.map(({ project }) => project.api_token);
  const headers = { authorization: `Bearer ${mine}`, 'x-write-key': other! };
  const refused = ways.map(async ({ name, path, method }) => {
    if (method === 'GET') return;
    const list = lists[name];
    const one = messages[name]!('', '');
    const body = list === undefined ? one : { [list]: [one] };
    const { status, text } = await harness.request(method, path, { headers, body });
    assert.deepEqual([status, /the same write key/.test(text)], [400, true], path);
  });
  await Promise.all(refused);
});
