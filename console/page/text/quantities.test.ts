import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted, inBytes, inTime } from './quantities.ts';

test('bytes and times are said in a few digits', () => {
  assert.deepEqual([0, 0.8, 1, 999, 1000, 99_949, 99_950, 999_499, 999_500, 1.5e9].map(inBytes), [
    '0 bytes',
    '1 byte',
    '1 byte',
    '999 bytes',
    '1.0 kB',
    '99.9 kB',
    '100 kB',
    '999 kB',
    '1.0 MB',
    '1.5 GB',
  ]);
  assert.deepEqual([0.04, 9.9, 59, 60, 200, 3_600, 7_500, 86_400, 90_000].map(inTime), [
    '0.0 s',
    '9.9 s',
    '59 s',
    '1 min',
    '3 min 20 s',
    '1 h',
    '2 h 5 min',
    '1 d',
    '1 d 1 h',
  ]);
  assert.deepEqual([counted(1, 'row'), counted(2_000, 'row')], ['1 row', '2,000 rows']);
});
