import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { storedPeople } from '../../../test/factories/events/stored_events.ts';
import type { ImportFormat } from './formats.ts';
import { mapLine } from './mapping.ts';

const importing = aroundTests(openImporting);
const mixpanel = (event: string, properties: object) =>
  JSON.stringify({ event, properties: { time: 1_696_050_004, $insert_id: 'i1', ...properties } });

/** The event of a line, or its problem. */
function mapped(row: string, format: ImportFormat) {
  const found = mapLine(row, 1, Buffer.alloc(32, 7), { timezone: 'UTC', format });
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
    'This looks like an export of Mixpanel: try --format mixpanel.',
    'It names no distinct_id at its top, and so every line is refused.',
  );
  const tried = await importing.run(owner, file, { dry_run: true, format: 'mixpanel' });
  assert.deepEqual(tried.said.slice(-2), [
    '5 lines would become events, 0 would be refused. Nothing was sent.',
    '4 lines of these would join two persons.',
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
    [code, said.at(-1)],
    [0, '2 events stored, 0 were there already, 0 lines refused.'],
  );
  const stored = await importing.rows(owner);
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
