import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { storedPeople } from '../../../test/factories/events/stored_events.ts';
import { readDraft } from '../../api/capture/read/read_draft.ts';
import { messageDraft } from '../../api/capture/segment/message.ts';
import type { ImportFormat } from './formats.ts';
import { openMapper } from './mapping.ts';

const importing = aroundTests(openImporting);
const mixpanel = (event: string, properties: object) =>
  JSON.stringify({ event, properties: { time: 1_696_050_004, $insert_id: 'i1', ...properties } });

/** The event of a line, or its problem. */
function mapped(row: string, format: ImportFormat) {
  const found = openMapper(Buffer.alloc(32, 7), { timezone: 'UTC', format })(row, 1);
  return found.json === undefined ? found.problem : JSON.parse(found.json);
}

test('rows of Mixpanel join the persons that they name', async () => {
  const owner = await importing.harness.newOrganization();
  const rows = [
    mixpanel('Opened', { distinct_id: 'device', page: 1, big: 7 }),
    mixpanel('$identify', { distinct_id: 'x', $identified_id: 'ada', $anon_id: 'device' }),
    mixpanel('$identify', { distinct_id: 'bob', $anon_distinct_id: 'tablet' }),
    mixpanel('$create_alias', { distinct_id: 'eve', alias: 'eve@example.com' }),
    mixpanel('$merge', { distinct_id: 'y', $distinct_ids: ['ada', 'bob'] }),
  ];
  const file = await importing.put('mixpanel.ndjson', `${rows.join('\n')}\n`);
  const looked = await importing.run(owner, file, { dry_run: true });
  assert.equal(
    looked.said.at(-1),
    'This looks like an export of Mixpanel: try --from mixpanel.',
    'It names no distinct_id at its top, and so every line is refused.',
  );
  const tried = await importing.run(owner, file, { dry_run: true, format: 'mixpanel' });
  assert.deepEqual(tried.said.slice(-2), [
    '5 lines would become events, 0 would be refused. Nothing was sent.',
    '4 events would join two persons.',
  ]);
  const [, second] = tried.said;
  assert.match(second!, /"distinct_id": "ada"[^]*"joins": "device"/);
  const { code } = await importing.run(owner, file, { format: 'mixpanel' });
  assert.equal(code, 0);
  const team_id = owner.project.id;
  assert.deepEqual(await storedPeople(importing.harness.deps, team_id), [
    ['ada', 'bob', 'device', 'tablet'],
    ['eve', 'eve@example.com'],
  ]);
  const opened = (await importing.rows(owner)).find(({ event }) => event === 'Opened')!;
  assert.equal(opened.timestamp, '2023-09-30T05:00:04.000000Z');
  assert.deepEqual(JSON.parse(opened.properties), { $insert_id: 'i1', page: 1, big: 7 });
});

test('two rows of Mixpanel are one event where Mixpanel says so', () => {
  const uuid = (properties: object, event = 'e') =>
    mapped(mixpanel(event, { distinct_id: 'a', ...properties }), 'mixpanel').uuid;
  assert.equal(uuid({ n: 1 }), uuid({ n: 2 }));
  const others = [uuid({}), uuid({ time: 1 }), uuid({ distinct_id: 'b' }), uuid({}, 'f')];
  assert.equal(new Set([...others, uuid({ $insert_id: 'i2' })]).size, 5);
});

test('rows of Mixpanel that join nobody are refused', () => {
  for (const [row, problem] of [
    [mixpanel('$identify', { distinct_id: 'a' }), /names no "\$anon_id"/],
    [mixpanel('$merge', { distinct_id: 'a', $distinct_ids: ['a'] }), /does not name two ids/],
    [mixpanel('e', { distinct_id: 'a', time: null }), /"properties.time" is missing/],
    ['{"event":"e","distinct_id":"a"}', /"properties" is no object/],
  ] as const)
    assert.match(mapped(row, 'mixpanel'), problem);
});

test('a row of GA4 becomes an event with its parameters as properties', async () => {
  const row = {
    event_date: '20240101',
    event_timestamp: '1704067200123456',
    event_name: 'purchase',
    event_params: [
      { key: 'page_location', value: { string_value: 'https://a.example', int_value: null } },
      { key: 'ga_session_id', value: { int_value: '9007199254740993' } },
      { key: 'value', value: { double_value: 19.5 } },
      { key: 'code', value: { string_value: '007' } },
      { key: 'none', value: {} },
    ],
    user_id: null,
    user_pseudo_id: '12.34',
    user_properties: [
      { key: 'plan', value: { string_value: 'pro', set_timestamp_micros: '1704067200000000' } },
    ],
    device: { category: 'mobile' },
  };
  const owner = await importing.harness.newOrganization();
  const rows = [row, { ...row, user_id: 'ada' }].map((one) => JSON.stringify(one)).join('\n');
  const file = await importing.put('ga4.ndjson', rows);
  const looked = await importing.run(owner, file, { dry_run: true, event_field: 'event_name' });
  assert.match(looked.complained.join('\n'), /"distinct_id" is missing/);
  const { code, said } = await importing.run(owner, file, { format: 'ga4' });
  assert.deepEqual(
    [code, ...said.slice(-2)],
    [
      0,
      '3 events stored, 0 were there already, 0 lines refused.',
      'Joined 1 pair of ids: each is one person now.',
    ],
  );
  assert.deepEqual(await storedPeople(importing.harness.deps, owner.project.id), [
    ['12.34', 'ada'],
  ]);
  const stored = (await importing.rows(owner)).filter(({ event }) => event === 'purchase');
  assert.deepEqual(stored.map(({ distinct_id }) => distinct_id).toSorted(), ['12.34', 'ada']);
  const [one] = stored.filter(({ distinct_id }) => distinct_id === 'ada');
  assert.equal(one!.timestamp, '2024-01-01T00:00:00.123456Z');
  assert.match(one!.properties, /"ga_session_id":9007199254740993,/);
  const { ga_session_id: _exact, ...properties } = JSON.parse(one!.properties);
  assert.deepEqual(properties, {
    page_location: 'https://a.example',
    value: 19.5,
    code: '007',
    none: null,
    event_date: '20240101',
    user_pseudo_id: '12.34',
    user_properties: { plan: 'pro' },
    device: { category: 'mobile' },
  });
});

test('rows that are not of GA4 are refused', () => {
  const row = { event_name: 'e', user_pseudo_id: 'a', event_timestamp: 1_704_067_200_123_456 };
  for (const [fields, problem] of [
    [{ event_params: {} }, /"event_params" is no list/],
    [{ event_params: [{ value: 1 }] }, /an entry without a "key"/],
    [{ event_timestamp: undefined }, /"event_timestamp" holds no timestamp/],
    [{ user_pseudo_id: '' }, /"user_id" is missing/],
  ] as const)
    assert.match(mapped(JSON.stringify({ ...row, ...fields }), 'ga4'), problem);
});

/** The events that a file's lines become, joins included, as the server would get them. */
function allMapped(rows: object[], format: ImportFormat) {
  const map = openMapper(Buffer.alloc(32, 7), { timezone: 'UTC', format });
  return rows.flatMap((row, index) => {
    const found = map(JSON.stringify(row), index + 1);
    if (found.json === undefined) return [{ problem: found.problem }];
    return [...(found.join === undefined ? [] : [found.join]), found.json].map(
      (json): Record<string, any> => JSON.parse(json),
    );
  });
}

test('rows of Amplitude join their two ids once, and keep what users are', () => {
  const row = {
    amplitude_id: 7,
    event_type: 'Paid',
    event_time: '2024-01-01 10:00:00.123000',
    user_id: 'ada',
    device_id: 'device-1',
    $insert_id: 'i1',
    uuid: 'a0000000-0000-4000-8000-000000000001',
    event_properties: { price: 3 },
    user_properties: { plan: 'pro' },
    groups: { company: ['acme'] },
    city: 'Berlin',
    country: null,
  };
  const { uuid: _uuid, ...older } = { ...row, user_id: null, event_type: 'Seen' };
  const group = {
    ...row,
    event_type: '$groupidentify',
    group_properties: { company: { size: 3 } },
  };
  const [join, paid, seen, again, grouped] = allMapped([row, older, row, group], 'amplitude');
  assert.deepEqual(
    [join!.event, join!.distinct_id, join!.properties, join!.timestamp],
    ['$identify', 'ada', { $anon_distinct_id: 'device-1' }, '2024-01-01T10:00:00.123000Z'],
  );
  assert.deepEqual(paid, {
    event: 'Paid',
    distinct_id: 'ada',
    timestamp: '2024-01-01T10:00:00.123000Z',
    uuid: row.uuid,
    properties: {
      price: 3,
      $groups: { company: 'acme' },
      amplitude_id: 7,
      user_id: 'ada',
      device_id: 'device-1',
      $insert_id: 'i1',
      city: 'Berlin',
    },
    $set: { plan: 'pro' },
  });
  assert.deepEqual([seen!.distinct_id, again!.event], ['device-1', 'Paid']);
  const [moved] = allMapped([{ ...older, city: 'Rome' }], 'amplitude');
  assert.equal(moved!.uuid, seen!.uuid, 'the insert id names the event, whatever file it is in');
  const { $group_type, $group_key, $group_set } = grouped!.properties;
  assert.deepEqual([$group_type, $group_key, $group_set], ['company', 'acme', { size: 3 }]);
});

test('calls of Segment and RudderStack become what their libraries send', () => {
  const call = {
    anonymousId: 'a',
    timestamp: '2024-01-01T00:00:00.5Z',
    context: { ip: '1.2.3.4' },
  };
  const rows = [
    { ...call, type: 'track', event: 'Paid', messageId: 'm-1', properties: { price: 3 } },
    { ...call, type: 'identify', userId: 'ada', messageId: 'm-2', traits: { plan: 'pro' } },
    { ...call, type: 'nothing' },
  ];
  const [paid, identify, bad] = allMapped(rows, 'segment');
  assert.deepEqual([paid!.event, paid!.distinct_id, paid!.properties.price], ['Paid', 'a', 3]);
  assert.deepEqual(identify!.$set, { plan: 'pro' });
  assert.equal(identify!.properties.$anon_distinct_id, 'a');
  assert.match(bad!.problem, /"type" is none of track/);
  const drafts = readDraft(messageDraft({ ...rows[0] }, undefined), {
    received_ms: Date.now(),
    skew_ms: 0,
  });
  assert.equal(paid!.uuid, drafts.read.event!.uuid);
});

test('an enriched event of Snowplow has its content as properties', () => {
  const row = {
    event: 'unstruct',
    event_name: 'basket_filled',
    event_id: 'b0000000-0000-4000-8000-000000000001',
    collector_tstamp: '2024-01-01 10:00:01.000',
    derived_tstamp: null,
    user_id: 'ada',
    domain_userid: 'visitor',
    page_url: 'https://a.example/',
    unstruct_event_com_acme_basket_filled_1: { items: 2 },
    contexts_com_acme_user_1: [{ plan: 'pro' }],
  };
  const view = { ...row, event: 'page_view', event_name: 'page_view', user_id: null };
  const [join, filled, viewed] = allMapped([row, view], 'snowplow');
  assert.deepEqual([join!.distinct_id, join!.properties.$anon_distinct_id], ['ada', 'visitor']);
  const { items, $current_url, contexts_com_acme_user_1: contexts } = filled!.properties;
  assert.deepEqual([items, $current_url, contexts], [2, row.page_url, [{ plan: 'pro' }]]);
  assert.deepEqual([filled!.event, filled!.uuid], ['basket_filled', row.event_id]);
  assert.deepEqual([viewed!.event, viewed!.distinct_id], ['$pageview', 'visitor']);
  assert.equal(viewed!.timestamp, '2024-01-01T10:00:01.000Z');
});

test('batch export files of PostHog bring events and persons', async () => {
  const event = {
    uuid: 'c0000000-0000-4000-8000-000000000001',
    event: 'paid',
    distinct_id: 'ada',
    timestamp: '2024-01-01 10:00:00.000000',
    properties: '{"price":1.50}',
    person_properties: '{"plan":"pro"}',
    elements_chain: 'a.b',
    team_id: 3,
  };
  const person = { team_id: 3, person_id: 'p', distinct_id: 'ada', properties: { plan: 'pro' } };
  const rows = [event, person, { ...person, distinct_id: 'device' }];
  const [paid, set, merged] = allMapped(rows, 'posthog');
  assert.deepEqual(paid, {
    uuid: event.uuid,
    event: 'paid',
    distinct_id: 'ada',
    timestamp: '2024-01-01T10:00:00.000000Z',
    properties: { $elements_chain: 'a.b', price: 1.5 },
  });
  assert.deepEqual([set!.event, set!.$set], ['$set', { plan: 'pro' }]);
  assert.deepEqual(
    [merged!.event, merged!.properties],
    ['$merge_dangerously', { alias: 'device' }],
  );
});

test('a Parquet file is imported like its lines, and once', async () => {
  const { clickhouse } = importing.harness.deps;
  const { stream } = await clickhouse.exec({
    query: `SELECT toString(generateUUIDv7()) AS uuid, 'paid' AS event, 'ada' AS distinct_id,
      toDateTime64('2024-01-01 10:00:00.123456', 6, 'UTC') AS timestamp, number AS n,
      '{"price":1}' AS properties, '{}' AS person_properties FROM numbers(12000) FORMAT Parquet
      SETTINGS output_format_parquet_string_as_string = 1,
        output_format_parquet_compression_method = 'zstd'`,
  });
  const owner = await importing.harness.newOrganization();
  const file = await importing.put('posthog.parquet', await buffer(stream));
  const { said } = await importing.run(owner, file, { format: 'posthog' });
  assert.equal(said.at(-1), '12,000 events stored, 0 were there already, 0 lines refused.');
  const again = await importing.run(owner, file, { format: 'posthog' });
  assert.match(again.said.join('\n'), /0 events stored, 12,000 were there already/);
  const [row] = await importing.rows(owner);
  assert.deepEqual(
    [row!.timestamp, row!.properties],
    ['2024-01-01T10:00:00.123456Z', '{"price":1}'],
  );
});
