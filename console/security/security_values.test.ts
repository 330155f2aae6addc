import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitOf, linesOf } from './security_values.ts';

test('a field with one a line gives each entry once', () => {
  for (const [text, lines] of [
    ['', []],
    [' \n\n', []],
    ['10.0.0.0/8', ['10.0.0.0/8']],
    [' 10.0.0.0/8 \r\n\n2001:db8::/32\n10.0.0.0/8', ['10.0.0.0/8', '2001:db8::/32']],
  ] as const)
    assert.deepEqual(linesOf(text), lines, JSON.stringify(text));
});

test('a limit is a number, nothing, or what the API refuses', () => {
  for (const [text, limit] of [
    ['', null],
    ['  ', null],
    [' 12 ', 12],
    ['0', 0],
    ['-1', -1],
    ['1.5', '1.5'],
    ['a day', 'a day'],
  ] as const)
    assert.equal(limitOf(text), limit, text);
});
