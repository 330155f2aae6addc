import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { partOfTurn, turns_max } from '../../scripts/check/turn.ts';
import { faults } from '../planted/faults.ts';
import { root } from './source_files.ts';

test('a run has a part of a table, and each row has its runs', () => {
  for (const [length, turns] of [
    [13, 4],
    [7, 3],
    [2, 8],
    [1, 5],
  ] as const) {
    const table = Array.from({ length }, (_, row) => row);
    for (const first of [0, 17, turns_max - 1]) {
      const parts = Array.from({ length: turns }, (_, run) =>
        partOfTurn(table, turns, (first + run) % turns_max),
      );
      for (const { length: rows } of parts)
        assert.ok(rows >= 1 && rows <= Math.ceil(length / Math.min(turns, length)));
      assert.deepEqual([...new Set(parts.flat())].toSorted(by), table, `${length} by ${turns}`);
    }
  }
});

const by = (one: number, other: number) => one - other;

test('no planted fault is found by a test file that takes turns', () => {
  for (const path of new Set(faults.map(({ killed_by }) => killed_by)))
    assert.doesNotMatch(readFileSync(join(root, path), 'utf8'), /\binTurn\(/, path);
});
