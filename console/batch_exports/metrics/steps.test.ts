import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTime } from '../../page/text/quantities.ts';
import { steps_of } from './steps.ts';

test('no step of time has a rest in a smaller unit', () => {
  const { seconds } = steps_of;
  assert.deepEqual(
    seconds.toSorted((one, two) => one - two),
    seconds,
  );
  const words = seconds.filter((step) => step < 1e9).map(inTime);
  assert.deepEqual(
    words.filter((text) => !/^[\d.]+ (?:s|min|h|d)$/.test(text)),
    [],
  );
  assert.ok(words.includes('5 min') && words.includes('2 h'));
});
