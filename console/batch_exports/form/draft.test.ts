import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, draftOf } from './draft.ts';

test('what is a number is sent as one, whatever the API says of it', () => {
  const sent = (freshness_seconds: string) =>
    bodyOf({ ...draftOf(undefined), freshness_seconds }, undefined, undefined)['freshness_seconds'];
  assert.deepEqual(['', ' 90 ', '-5', '1.5', 'soon'].map(sent), [null, 90, -5, '1.5', 'soon']);
});
