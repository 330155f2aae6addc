import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PropertyType } from '../../model/schema/property_type.ts';
import { misfitsOf, otherTypes, propose } from './propose.ts';
import type { KindCounts } from './propose.ts';

const cases: [string, KindCounts, [PropertyType, number] | undefined][] = [
  ['nothing', {}, undefined],
  ['one value', { integer: 1 }, undefined],
  ['few values', { text: 9 }, undefined],
  ['nulls are no values', { text: 9, null: 100 }, undefined],
  ['booleans', { boolean: 10, null: 3 }, ['boolean', 0]],
  ['integers', { integer: 10 }, ['integer', 0]],
  ['long integers', { long_integer: 10 }, ['integer', 0]],
  ['one 10.0 among integers', { integer: 10_479, float: 1 }, ['float', 0]],
  ['a float and integers beyond 2^53', { integer: 90, float: 5, long_integer: 5 }, ['float', 5]],
  ['numbers beyond all types', { large_number: 10 }, ['json', 0]],
  ['few of them', { float: 98, large_number: 2 }, ['float', 2]],
  ['texts', { text: 10 }, ['text', 0]],
  ['dates', { timestamp: 10 }, ['text', 0]],
  ['dates and texts', { timestamp: 9, text: 1 }, ['text', 0]],
  ['texts, and some numbers', { text: 10_468, integer: 12 }, ['text', 12]],
  ['numbers, and some texts', { integer: 95, text: 5 }, ['integer', 5]],
  ['booleans, and as many texts', { boolean: 10, text: 10 }, ['json', 0]],
  ['a tenth does not fit', { boolean: 90, text: 10 }, ['boolean', 10]],
  ['more than a tenth does not fit', { boolean: 89, text: 11 }, ['json', 0]],
  ['lists', { array: 10 }, ['json', 0]],
  ['objects, and some texts', { object: 95, text: 5 }, ['json', 0]],
];

test('the values of a property speak for a type', () => {
  for (const [name, kinds, expected] of cases) {
    const found = propose(kinds);
    const said = found === undefined ? undefined : [found.type, found.misfits];
    assert.deepEqual(said, expected, name);
    if (found !== undefined) assert.equal(misfitsOf(found.type, kinds), found.misfits, name);
  }
});

test('a person may choose dates if all texts are, and a wider type if values do not fit', () => {
  assert.deepEqual(otherTypes('text', { timestamp: 10 }), ['timestamp']);
  assert.deepEqual(otherTypes('text', { timestamp: 10, text: 1 }), []);
  assert.deepEqual(otherTypes('integer', { integer: 10 }), []);
  assert.deepEqual(otherTypes('integer', { integer: 10, float: 1 }), ['float', 'json']);
  assert.deepEqual(otherTypes('integer', { integer: 10, text: 1 }), ['json']);
  assert.deepEqual(otherTypes('timestamp', { timestamp: 10, text: 1 }), ['text', 'json']);
  assert.deepEqual(otherTypes('json', { text: 1, integer: 1 }), []);
});
