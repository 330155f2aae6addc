import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanOf } from './place.ts';

test('a place of the API is found in the text, also behind characters of two units', () => {
  const text = "SELECT '😀', evnt,\n  lenght(event)\nFROM events";
  for (const [place, piece] of [
    [{ line: 1, column: 13, length: 4 }, 'evnt'],
    [{ line: 2, column: 3, length: 6 }, 'lenght'],
    [{ line: 3, column: 6, length: 6 }, 'events'],
    [{ line: 1, column: 9, length: 1 }, '😀'],
    [{ line: 9, column: 9, length: 5 }, ''],
    [{ line: 3, column: 6, length: 60 }, 'events'],
  ] as const) {
    const { from, to } = spanOf(text, place);
    assert.equal(text.slice(from, to), piece);
  }
});
