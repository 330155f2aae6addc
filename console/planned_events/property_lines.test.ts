import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../http/problem.ts';
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

test('a fault names its line and what is wrong there', () => {
  const told = (text: string) => {
    try {
      return propertiesOf(text).length;
    } catch (error) {
      return (error as Problem).violations.map(({ attr, detail }) => `${attr} ${detail}`);
    }
  };
  const list = 'Write the allowed values as a JSON list, such as ["free", "pro"].';
  assert.deepEqual(told('plan text required [free]'), [`properties Line 1: ${list}`]);
  assert.deepEqual(told('plan text []\nseats list [[1]]\nkind text ["a"'), [
    `properties Line 1: ${list}`,
    `properties Line 2: ${list}`,
    `properties Line 3: ${list}`,
  ]);
  assert.deepEqual(told('a text\n\nb text\nc bogus\na number'), [
    'properties Line 4: “bogus” is not a type. Types are any, text, number, integer, boolean, ' +
      'list, object.',
    'properties Line 5: “a” occurs twice.',
  ]);
});
