import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLively } from './lively.ts';

test('a cancelled backfill is followed until its runs have ended', () => {
  const at = '2026-11-29T12:00:00Z';
  const after = (seconds: number) => Date.parse(at) + seconds * 1000;
  assert.equal(isLively({ status: 'Running', finished_at: null }, after(0)), true);
  assert.equal(isLively({ status: 'Completed', finished_at: at }, after(1)), false);
  assert.equal(isLively({ status: 'Cancelled', finished_at: at }, after(20)), true);
  assert.equal(isLively({ status: 'Cancelled', finished_at: at }, after(61)), false);
});
