import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredSlice } from '../../../engine/model/run.ts';
import { sliceOf } from './slice.ts';
import type { StoredRecord } from './store.ts';

const [from, cut, to] = ['00:00', '00:01', '00:02'].map((at) => `2026-01-01 ${at}:00.000000`);

/** The number of the slice, of two that are cut at the key between rows of one instant. */
function numberOf(key: string, distinct_id: string, at: string): number | undefined {
  const slices = [
    { number: 0, inserted_from: from, key_from: null, inserted_to: cut, key_to: key },
    { number: 1, inserted_from: cut, key_from: key, inserted_to: to, key_to: null },
  ] as StoredSlice[];
  const inserted_us = Date.parse(`${at}Z`) * 1000;
  return sliceOf(slices, { model: 'persons', distinct_id, inserted_us } as StoredRecord)?.number;
}

test('a slice is named by its bounds, but not beside one that an erasure has emptied', () => {
  assert.deepEqual([numberOf('bob', 'ada', cut!), numberOf('bob', 'eve', cut!)], [0, 1]);
  assert.deepEqual([numberOf('', 'ada', from!), numberOf('', 'ada', cut!)], [0, undefined]);
});
