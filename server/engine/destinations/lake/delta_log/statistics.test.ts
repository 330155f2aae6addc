import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileStatistics } from '../file_statistics.ts';
import { milliseconds } from './interval.ts';
import { fieldsOf, fitFields, schemaText } from './schema.ts';
import { recordsOf, statisticsText } from './statistics.ts';

const columns = [
  { name: 'at', type: 'timestamp' },
  { name: 'count', type: 'integer' },
  { name: 'text', type: 'text' },
] as const;

const bound = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes.toString('base64');
};

const of = (lowest: bigint, highest: bigint): FileStatistics => ({
  column_sizes: [],
  value_counts: [],
  null_counts: [[3, 2]],
  lower_bounds: [
    [1, bound(lowest)],
    [2, bound(-(2n ** 63n))],
  ],
  upper_bounds: [
    [1, bound(highest)],
    [2, bound(2n ** 63n - 1n)],
  ],
  split_offsets: [],
});

test('instants are cut below and raised above to whole milliseconds; others have no bound', () => {
  const cases: [bigint, bigint, string, string][] = [
    [1_500n, 1_500n, '1970-01-01T00:00:00.001Z', '1970-01-01T00:00:00.002Z'],
    [2_000n, 2_000n, '1970-01-01T00:00:00.002Z', '1970-01-01T00:00:00.002Z'],
    [-1n, -1n, '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'],
    [-1_000n, -999n, '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'],
  ];
  for (const [lowest, highest, min, max] of cases)
    assert.equal(
      statisticsText([...columns], of(lowest, highest), 7),
      `{"numRecords":7,"minValues":{"at":"${min}"},` +
        `"maxValues":{"at":"${max}"},"nullCount":{"text":2}}`,
    );
});

test('an instant that the log cannot tell has no bound', () => {
  const far = 200_000n * 365n * 86_400_000_000n;
  const told = JSON.parse(statisticsText([...columns], of(-far, far), 1)) as Record<string, object>;
  assert.deepEqual(Object.keys(told['minValues']!), []);
  assert.deepEqual(Object.keys(told['maxValues']!), []);
});

test('the rows of a file are read from the statistics of any writer', () => {
  assert.equal(recordsOf('{"numRecords":3}'), 3);
  for (const text of [undefined, '', 'no JSON', '{}', '{"numRecords":"3"}'])
    assert.equal(recordsOf(text), undefined);
});

test('durations are read as tables have them', () => {
  assert.equal(milliseconds('interval 30 days'), 30 * 86_400_000);
  assert.equal(milliseconds('INTERVAL 1 week'), 7 * 86_400_000);
  assert.equal(milliseconds('36 hours'), 36 * 3_600_000);
  for (const text of [undefined, '', 'interval 2 months', 'days'])
    assert.equal(milliseconds(text), undefined);
});

test('columns that a table lacks are added; what does not fit is a fault', () => {
  const text = { name: 'text', type: 'text', nullable: true } as const;
  const first = fitFields([], [text]);
  assert.ok('fields' in first);
  const fields = fieldsOf(schemaText(first.fields));
  assert.deepEqual(fields, [{ name: 'text', type: 'string', nullable: true, metadata: {} }]);
  const same = fitFields(fields, [text]);
  assert.ok('fields' in same && same.fields === fields);
  const wider = fitFields(fields, [text, { name: 'price', type: 'decimal', nullable: true }]);
  assert.ok('fields' in wider);
  assert.deepEqual(
    wider.fields.map(({ type }) => type),
    ['string', 'decimal(38,9)'],
  );
  const faults: [Parameters<typeof fitFields>, RegExp][] = [
    [[fields, [{ ...text, type: 'integer' }]], /has the type string, and the export delivers long/],
    [[fields, [{ ...text, name: 'Text' }]], /differ only in upper and lower case/],
    [[[{ ...fields[0]!, nullable: false }], [text]], /is NOT NULL\.$/],
    [[[{ ...fields[0]!, nullable: false }], []], /is NOT NULL, and the export lacks it/],
    [
      [[{ ...fields[0]!, metadata: { 'delta.invariants': '{}' } }], [text]],
      /computed or checked by its writer/,
    ],
    [[[{ ...fields[0]!, type: { type: 'array' } }], [text]], /has the type \{"type":"array"\}/],
  ];
  for (const [given, said] of faults) {
    const fitting = fitFields(...given);
    assert.ok('fault' in fitting);
    assert.match(fitting.fault, said);
  }
});
