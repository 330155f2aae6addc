import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Difference } from '../../model/destination/difference.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import { compareRows } from './compare_rows.ts';
import type { ComparedRows } from './compare_rows.ts';

const columns = [
  { name: 'uuid', type: 'uuid' },
  { name: 'event', type: 'text' },
  { name: 'properties', type: 'json' },
] as const;

type Rows = () => Iterable<ValueRow>;

function compared(expected: Rows, found: Rows, more: Partial<ComparedRows> = {}) {
  return compareRows({
    name: 't',
    columns: [...columns],
    key: ['uuid'],
    is_shared: false,
    records: 10,
    expected: () => Readable.from(expected()),
    found: () => Readable.from(found()),
    onRow: () => undefined,
    ...more,
  });
}

const lines = (differences: Difference[]) =>
  differences.map(({ kind, name, detail }) => `${kind} ${name}: ${detail}`);

const row = (uuid: string, event = 'a', properties = '{"a":1}'): ValueRow => [
  uuid,
  event,
  properties,
];

test('rows are compared in whatever order and spelling they come', async () => {
  const expected = () => [row('1'), row('2', 'b', '{"b":1.0,"a":[]}'), row('3'), row('3')];
  const found = () => [row('3'), row('2', 'b', '{"a": [], "b": 1}'), row('3'), row('1')];
  assert.deepEqual(await compared(expected, found), []);
});

test('each difference names its row, its column and both values', async () => {
  const long = 'x'.repeat(500);
  const expected = () =>
    ['1', '2', '4', '5', '5', '6'].map((uuid) => row(uuid)).concat([row('3', `${long}a${long}`)]);
  const found = () => {
    const rows = [row('1', 'a\n', '{"a":2}'), row('3', `${long}b${long}`), row('4'), row('4')];
    return rows.concat([row('5'), ['6', null, '{"a":1}'], row('7')]);
  };
  assert.deepEqual(lines(await compared(expected, found)).toSorted(), [
    'added t uuid=7: No delivery holds this row.',
    'changed t uuid=1: The column event was delivered as a and is a\\n.',
    'changed t uuid=1: The column properties was delivered as {"a":1} and is {"a":2}.',
    'changed t uuid=3: The column event was delivered as ' +
      `…${'x'.repeat(20)}a${'x'.repeat(59)}… and is …${'x'.repeat(20)}b${'x'.repeat(59)}….`,
    'changed t uuid=4: It was delivered 1 times and occurs 2 times.',
    'changed t uuid=6: The column event was delivered as a and is null.',
    'missing t uuid=2: The row is gone.',
    'missing t uuid=5: It was delivered 2 times and occurs 1 times.',
  ]);
});

test('rows of others are not looked at where a table is shared', async () => {
  const strangers = Array.from({ length: 5_000 }, (_, n) => row(`stranger ${n}`));
  const found = () => [...strangers, row('1', 'b'), row('2')];
  assert.deepEqual(lines(await compared(() => [row('1'), row('2')], found, { is_shared: true })), [
    'changed t uuid=1: The column event was delivered as a and is b.',
  ]);
});

test('rows without a key show all their values', async () => {
  assert.deepEqual(
    lines(
      await compared(
        () => [row('1'), row('2')],
        () => [row('2'), row('1', 'b')],
        { key: [] },
      ),
    ).toSorted(),
    [
      'added t: No delivery holds this row: uuid=1, event=b, properties={"a":1}.',
      'missing t: A delivered row is missing: uuid=1, event=a, properties={"a":1}.',
    ],
  );
});

test('the comparison names 1,000 differences, counts the rest, and bounds its rows', async () => {
  const many = (count: number, event: string) => () =>
    (function* () {
      for (let n = 0; n < count; n += 1) yield row(String(n), event);
    })();
  const some = await compared(many(3_000, 'a'), many(3_000, 'b'), { records: 3_000 });
  assert.equal(some.length, 1_001);
  assert.deepEqual(some.at(-1), {
    kind: 'changed',
    name: 't',
    detail: '2,000 more rows like these.',
  });
  const all = await compared(many(22_000, 'a'), many(22_000, 'b'), { records: 22_000 });
  const more = /^Left out: at least ([\d,]+) more rows\. /.exec(all.at(-1)?.detail ?? '')?.[1];
  assert.ok(
    Number(more?.replace(',', '')) > 2_000 && Number(more?.replace(',', '')) < 21_000,
    all.at(-1)?.detail,
  );
  // Large values are bounded by their characters.
  const large = (event: string) => () =>
    (function* () {
      for (let n = 0; n < 4; n += 1) yield row(String(n), event.repeat(9_000_000));
    })();
  const clipped = await compared(large('a'), large('b'));
  assert.ok(clipped.length >= 2 && clipped.length <= 4);
  assert.match(clipped.at(-1)?.detail ?? '', /^Left out: at least \d+ more rows?\./);
});
