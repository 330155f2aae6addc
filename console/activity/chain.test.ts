import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldWords, missingBetween, shownValue } from './chain.ts';

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
  for (const [value, text] of cases) assert.equal(shownValue(value, 'config'), text);
});

test('a level is read by its name', () => {
  const words = [1, 8, 15, 9, null].map((value) => shownValue(value, 'level'));
  assert.deepEqual(words, ['Member', 'Administrator', 'Owner', '9', 'nothing']);
});

test('a changed field is named in words, unless others chose its name', () => {
  const cases: [string, string][] = [
    ['name', 'Name'],
    ['destination.config.table_name', 'Destination: table name'],
    ['offset_hour', 'Offset hour'],
    ['config.Event-Name', 'config.Event-Name'],
  ];
  for (const [field, words] of cases) assert.equal(fieldWords(field), words);
});
