import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf, propertiesOf } from './property_lines.ts';

test('properties are typed one a line, and shown so', () => {
  const text =
    'total number required\nFirst name text\ncoupon\n\n required list \n' +
    'kind text required ["a b", 1, true]\nseats [4] number';
  const properties = propertiesOf(text);
  assert.deepEqual(properties, [
    { name: 'total', type: 'number', required: true },
    { name: 'First name', type: 'text', required: false },
    { name: 'coupon', type: 'any', required: false },
    { name: 'required', type: 'list', required: false },
    { name: 'kind', type: 'text', required: true, values: ['a b', 1, true] },
    { name: 'seats [4]', type: 'number', required: false },
  ]);
  assert.deepEqual(propertiesOf(linesOf(properties)), properties);
});
