import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingBetween, shownValue } from './chain.ts';

test('numbers that are missing in the log are found', () => {
  const cases: [number[], number[]][] = [
    [[], []],
    [[7], []],
    [[3, 2, 1], []],
    [
      [6, 3, 2],
      [4, 5],
    ],
  ];
  for (const [numbers, missing] of cases)
    assert.deepEqual(missingBetween(numbers.map((number) => ({ number }))), missing);
});

test('values of a change are read as they are', () => {
  const cases: [unknown, string][] = [
    [null, 'nothing'],
    [undefined, 'nothing'],
    ['', 'an empty text'],
    ['null', 'null'],
    [0, '0'],
    [false, 'false'],
    [['a', 1], '["a",1]'],
  ];
  for (const [value, text] of cases) assert.equal(shownValue(value), text);
});
