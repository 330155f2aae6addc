import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inDepth } from '../../../../../test/depth.ts';
import type { ColumnType } from '../../../model/models/column.ts';
import { canonicalValue } from '../../contents/canonical.ts';
import { openRowSum, sumWithoutRows } from './row_sum.ts';

type Row = (string | null)[];

function sumOf(types: ColumnType[], ...rows: Row[]): string {
  const sum = openRowSum(types.map((type) => ({ type })));
  for (const row of rows) sum.add(row);
  return sum.value();
}

/** The same of the lines that ClickHouse writes of the rows. */
function sumOfLines(types: ColumnType[], ...rows: Row[]): string {
  const sum = openRowSum(types.map((type) => ({ type })));
  for (const row of rows) {
    const fields = row.map((value) => (value === null ? '\\N' : escaped(value)));
    sum.take(Buffer.from(`${fields.join('\t')}\n`));
  }
  assert.equal(sum.records(), rows.length);
  return sum.value();
}

const escapes: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\0': '\\0' };

function escaped(text: string): string {
  return text.replaceAll(/[\t\n\0\\]/g, (found) => escapes[found] ?? `\\${found}`);
}

/** Numbers and strings in spellings that stores and senders use. */
const tokens =
  '0 -0 -0.0 1 1.0 1e0 10 1E1 0.05 5e-2 -1.50 1e22 1e-7 0.000001 0.0000001 123456789012345 ' +
  '1234567890123456 9007199254740993 0.1234567890123456 1234567.1234567 1234567.12345678 1e400 ' +
  '18446744073709551616 "a" "\\u0061" "\\/" "/" "\\n" "\\u000a" "\\"" "\\\\" "é" "\\u00e9" ' +
  '"a\\u0000" "abc" "abcd" "abcde" "" true false null';
const token = fc.constantFrom(...tokens.split(' '));
const blank = fc.constantFrom('', '', ' ', '  ', '\n');
const text = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    token,
    fc
      .array(fc.tuple(blank, tie('value'), blank), { maxLength: 4 })
      .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
    fc
      .array(
        fc.tuple(
          blank,
          fc.constantFrom('"a"', '"b"', '"\\u0062"', '"long key"'),
          blank,
          tie('value'),
        ),
        { maxLength: 4 },
      )
      .map((entries) => {
        const texts = entries.map(
          ([before, key, after, value]) => `${before}${key}${after}:${value}`,
        );
        return `{${texts.join(',')}}`;
      }),
  ),
})).value;

test('JSON has one digest for all of its spellings, and another value another', () => {
  const seen = new Map<string, string | null>();
  fc.assert(
    fc.property(text, (json) => {
      const canonical = canonicalValue('json', json);
      const sum = sumOf(['json'], [json]);
      assert.equal(sumOf(['json'], [canonical]), sum);
      assert.equal(sumOfLines(['json'], [json]), sum);
      const other = seen.get(sum);
      if (other !== undefined) assert.equal(other, canonical);
      seen.set(sum, canonical);
    }),
    { numRuns: inDepth(3_000, 50_000), seed: 137 },
  );
  assert.equal(new Set(seen.values()).size, seen.size, 'one text has two digests');
  // Without order among keys, and with it among items.
  assert.equal(sumOf(['json'], ['{"a":1,"b":{"c":2}}']), sumOf(['json'], ['{"b":{"c":2},"a":1}']));
  for (const [one, other] of [
    ['{"a":1,"b":2}', '{"a":2,"b":1}'],
    ['[1,2]', '[2,1]'],
    ['[[],1]', '[[1]]'],
    ['{"a":{"b":1},"c":{}}', '{"a":{},"c":{"b":1}}'],
    ['["ab","c"]', '["a","bc"]'],
    ['["1"]', '[1]'],
  ])
    assert.notEqual(sumOf(['json'], [one!]), sumOf(['json'], [other!]), `${one} ${other}`);
});

test('JSON that is too large or none is hashed all the same', () => {
  const wide = (value: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 100 }, (_, key) => [key, value])));
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const texts = [
    wide(1),
    wide(2),
    deep(51),
    deep(52),
    deep(3_000),
    deep(3_001),
    '{"a',
    '{"a\\',
    '',
  ];
  const sums = texts.map((json) => sumOf(['json'], [json]));
  assert.equal(new Set(sums).size, texts.length);
  assert.deepEqual(
    texts.map((json) => sumOfLines(['json'], [json])),
    sums,
  );
});

test('a value of each type has one digest for the spellings that stores give it', () => {
  const spellings: [ColumnType, string[], string[]][] = [
    ['text', ['a\0b', 'ab'], ['a', 'a b', '\\N', 'tab\t', 'line\n', "it's"]],
    [
      'timestamp',
      ['2026-01-01T00:00:00.100000Z', '2026-01-01 00:00:00.1+00', '2026-01-01 00:00:00.100 UTC'],
      ['2026-01-01T00:00:00.100001Z'],
    ],
    ['date', ['2026-01-01', '2026-01-01T00:00:00.000000Z'], ['2026-01-02']],
    ['uuid', ['018F0000-0000-7000-8000-00000000000A', '018f0000-0000-7000-8000-00000000000a'], []],
    ['boolean', ['true', 't', '1'], ['false']],
    ['integer', ['1', '+1', '01'], ['-1', '0', '10', '2']],
    ['integer', ['0', '-0', '00'], ['1']],
    ['float', ['1e300', '1E+300'], ['-1e300', '0.1']],
    ['decimal', ['1.500000000', '1.5'], ['15']],
  ];
  for (const [type, texts, others] of spellings) {
    const sums = new Set(
      texts.flatMap((value) => [sumOf([type], [value]), sumOfLines([type], [value])]),
    );
    assert.equal(sums.size, 1, `${type} ${texts.join()}`);
    for (const other of [...others, null]) {
      assert.ok(!sums.has(sumOf([type], [other])), `${type} ${other}`);
      assert.equal(sumOfLines([type], [other]), sumOf([type], [other]), `${type} ${other}`);
    }
  }
});

test('a digest has its rows in any order, each as often as it comes', () => {
  const types: ColumnType[] = ['text', 'text', 'json'];
  const rows: Row[] = [
    ['a', 'b', '{"n":1}'],
    ['ab', '', '{"n":1}'],
    ['a', null, null],
    [null, 'a', null],
    ['b', 'a', '{"n":1}'],
  ];
  const all = sumOf(types, ...rows);
  assert.equal(sumOf(types, ...rows.toReversed()), all);
  assert.equal(new Set(rows.map((row) => sumOf(types, row))).size, rows.length);
  assert.notEqual(sumOf(types, ...rows, rows[0]!), all);
  assert.notEqual(sumOf(types, rows[0]!, rows[0]!), sumOf(types));
  // Two rows that exchanged a value.
  assert.notEqual(
    sumOf(types, ['a', 'b', null], ['c', 'd', null]),
    sumOf(types, ['a', 'd', null], ['c', 'b', null]),
  );
  assert.equal(
    sumWithoutRows(
      all,
      types.map((type) => ({ type })),
      rows.slice(0, 2),
    ),
    sumOf(types, ...rows.slice(2)),
  );
  assert.equal(sumOf(types), '0'.repeat(32));
});

test('a line with another number of fields is refused', () => {
  const sum = openRowSum([{ type: 'text' }, { type: 'text' }]);
  assert.throws(() => sum.take(Buffer.from('a\tb\tc\n')), /number of columns/);
});
