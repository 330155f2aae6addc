import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMapping, describeMapping, openMapper } from './mapping.ts';
import type { ImportMapping } from './mapping.ts';
import { UserError } from '../user_error.ts';

const sha256 = Buffer.alloc(32, 7);

/**
 * The event that a line becomes, without a uuid that was created for it, and what was renamed; the
 * problem when it becomes none.
 */
function mapped(line: unknown, mapping: Partial<ImportMapping>) {
  const found = openMapper(sha256, { timezone: 'UTC', ...mapping })(JSON.stringify(line), 1);
  if (found.json === undefined) return found.problem;
  const { uuid, ...event } = JSON.parse(found.json) as Record<string, unknown>;
  const isCreated = String(uuid).startsWith('07070707-0707-8');
  return { ...event, ...(isCreated ? {} : { uuid }), renamed: found.renamed };
}

const own = { event: 'e', distinct_id: 'd' };
const uuidOf = (id: string) =>
  String((mapped({ ...own, uuid: id }, {}) as { uuid?: unknown }).uuid);

test('the import converts unfit values even without options', () => {
  const cases: [Record<string, unknown>, Partial<ImportMapping>, Record<string, unknown>][] = [
    [{ distinct_id: 7 }, {}, { distinct_id: '7' }],
    [{ distinct_id: '' }, { distinct_id_default: 'nobody' }, { distinct_id: 'nobody' }],
    [{ timestamp: 1696050004 }, {}, { timestamp: '2023-09-30T05:00:04.000000Z' }],
    [{ timestamp: '2023-09-30 05:00:04' }, {}, { timestamp: '2023-09-30T05:00:04Z' }],
    [
      { timestamp: '2023-09-30 05:00:04' },
      { timezone: 'Europe/Berlin' },
      { timestamp: '2023-09-30T03:00:04Z' },
    ],
    [
      { timestamp: '2023-09-30T05:00:04+02:00' },
      { timezone: 'Europe/Berlin' },
      { timestamp: '2023-09-30T05:00:04+02:00' },
    ],
    // Day or month first? The server says that this is no instant.
    [{ timestamp: '01/02/2026' }, {}, { timestamp: '01/02/2026' }],
    [{ uuid: 'order-1' }, {}, { uuid: uuidOf('order-1'), properties: { uuid: 'order-1' } }],
    [
      { uuid: 17, properties: { a: 1, uuid: 'mine' } },
      {},
      {
        properties: { a: 1, uuid: 'mine' },
        uuid: uuidOf('17'),
      },
    ],
    // Values that the server refuses stay unchanged, so that it says why.
    [
      { distinct_id: {}, timestamp: null, uuid: '' },
      {},
      { distinct_id: {}, timestamp: null, uuid: '' },
    ],
  ];
  assert.match(uuidOf('order-1'), /^[0-9a-f]{8}-[0-9a-f]{4}-5/);
  for (const [line, mapping, wanted] of cases)
    assert.deepEqual(mapped({ ...own, ...line }, mapping), { ...own, ...wanted, renamed: [] });
});

test('the first present field of several is the distinct id', () => {
  const mapping = { event_field: 'event_type', distinct_id_field: 'user_id,device_id' };
  const line = { event_type: 'opened', device_id: 'd1' };
  const event = { event: 'opened', renamed: [] };
  assert.deepEqual(mapped({ ...line, user_id: 'ada' }, mapping), {
    ...event,
    distinct_id: 'ada',
    properties: { device_id: 'd1' },
  });
  for (const user_id of [undefined, null, ''])
    assert.deepEqual(mapped({ ...line, ...(user_id === undefined ? {} : { user_id }) }, mapping), {
      ...event,
      distinct_id: 'd1',
      properties: user_id === undefined ? {} : { user_id },
    });
  assert.equal(
    mapped({ event_type: 'opened' }, mapping),
    'The field "user_id" is missing or empty.',
  );
});

test('a field that becomes uuid or time stays a property when it says more', () => {
  const mapping = { uuid_field: 'id', timestamp_field: 'at', timezone: 'Europe/Berlin' };
  const uuid = '0190163d-8694-739b-aea5-966c26f8ad91';
  const kept = (id: unknown, at: unknown) =>
    (mapped({ ...own, id, at }, mapping) as { properties?: unknown }).properties;
  for (const at of [
    '2023-09-30 05:00:04',
    '2023-09-30T05:00:04.123456Z',
    '2023-09-30T05:00:04+00:00',
    '2023-09-30',
    1696050004,
    1696050004.25,
    1696050004123,
  ])
    assert.deepEqual(kept(uuid, at), {}, String(at));
  for (const at of [
    '2023-09-30T05:00:04+02:00',
    '2023-09-30T05:00:04-05',
    '2023-09-30T05:00:04.1234567Z',
  ])
    assert.deepEqual(kept(uuid, at), { at }, at);
  assert.deepEqual(kept('order-1', 1696050004), { id: 'order-1' });
  assert.deepEqual(kept(12, 1696050004), { id: 12 });
});

test('a property that also exists inside properties is kept under another name, and named', () => {
  const line = { what: 'e', distinct_id: 'd', a: 1, same: [1], b: 2, _b: 3 };
  const properties = { a: 2, same: [1], b: 4 };
  assert.deepEqual(mapped({ ...line, properties }, { event_field: 'what' }), {
    event: 'e',
    distinct_id: 'd',
    properties: { a: 2, same: [1], b: 4, _a: 1, __b: 2, _b: 3 },
    renamed: [
      ['a', '_a'],
      ['b', '__b'],
    ],
  });
  assert.deepEqual(mapped({ ...line, properties: 'text' }, { event_field: 'what' }), {
    event: 'e',
    distinct_id: 'd',
    properties: { a: 1, same: [1], b: 2, _b: 3, properties: 'text' },
    renamed: [],
  });
  const persons = { $set: { plan: 'pro' }, properties: { $set: { city: 'Ulm' }, n: 1 } };
  assert.deepEqual(mapped({ what: 'e', distinct_id: 'd', ...persons }, { event_field: 'what' }), {
    event: 'e',
    distinct_id: 'd',
    ...persons,
    renamed: [],
  });
});

test('a mapping is described by its options, and one without a real zone is refused', () => {
  assert.equal(describeMapping({ timezone: 'UTC', event_field: 'event' }), 'no option');
  assert.equal(
    describeMapping({ timezone: 'Asia/Tokyo', event_name: 'a "b"', uuid_field: 'id' }),
    '--event-name "a \\"b\\"" --uuid-field "id" --timezone "Asia/Tokyo"',
  );
  for (const timezone of ['UTC', 'Europe/Berlin', '+02:00']) checkMapping({ timezone });
  for (const timezone of ['Mars/Base', '', 'Berlin'])
    assert.throws(() => checkMapping({ timezone }), UserError);
});
