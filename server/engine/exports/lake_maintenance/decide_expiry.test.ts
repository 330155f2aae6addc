import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SnapshotRef } from '../../model/lake_catalog/metadata.ts';
import { decideExpiry } from './decide_expiry.ts';
import { chooseFiles } from './choose_files.ts';
import { rulesOf } from './rules.ts';

const hour = 3_600_000;
/** A line of snapshots, one an hour: `1` is the oldest, `6` an hour ago. */
const line = Array.from({ length: 6 }, (_, index) => ({
  id: String(index + 1),
  parent_id: index === 0 ? null : String(index),
  timestamp_ms: (index + 1) * hour,
}));
const now = 7 * hour;
const branch = (id: number, more: object = {}): SnapshotRef => ({
  'snapshot-id': id,
  type: 'branch',
  ...more,
});
const tag = (id: number, more: object = {}): SnapshotRef => ({ ...branch(id, more), type: 'tag' });
const rules = { snapshot_age_ms: 2 * hour, snapshots_min: 1, ref_age_ms: Infinity };

const cases: [string, Parameters<typeof decideExpiry>, string[], string[]][] = [
  ['age of a branch', [line, { main: branch(6) }, rules, now], ['1', '2', '3', '4'], []],
  [
    'least number of a branch',
    [line, { main: branch(6) }, { ...rules, snapshots_min: 4 }, now],
    ['1', '2'],
    [],
  ],
  [
    'the current one stays',
    [line, { main: branch(6) }, rules, 1_000 * hour],
    ['1', '2', '3', '4', '5'],
    [],
  ],
  [
    'a tag keeps its own',
    [line, { main: branch(6), month: tag(2) }, rules, now],
    ['1', '3', '4'],
    [],
  ],
  [
    'a branch has rules of its own',
    [line, { main: branch(6, { 'min-snapshots-to-keep': 5 }) }, rules, now],
    ['1'],
    [],
  ],
  [
    'an old tag is dropped, with its snapshot',
    [line, { main: branch(6), month: tag(2, { 'max-ref-age-ms': 4 * hour }) }, rules, now],
    ['1', '2', '3', '4'],
    ['month'],
  ],
  [
    'main is never dropped',
    [line, { main: branch(6, { 'max-ref-age-ms': 1 }) }, rules, now],
    ['1', '2', '3', '4'],
    [],
  ],
  [
    'a young one that was rolled back stays for its time',
    [line, { main: branch(3) }, { ...rules, snapshots_min: 2 }, now],
    ['1', '4'],
    [],
  ],
  ['no ref at all', [line, {}, rules, now], ['1', '2', '3', '4'], []],
];

for (const [name, given, snapshots, refs] of cases)
  test(`expiry: ${name}`, () => {
    assert.deepEqual(decideExpiry(...given), { snapshots, refs });
  });

const sizes = (...bytes: number[]) =>
  bytes.map((size, index) => ({ path: String(index), records: size, bytes: size }));
const target = { file_bytes: 100, file_records: 1_000 };
const choices: [string, Parameters<typeof chooseFiles>, string[][]][] = [
  ['few wait', [sizes(1, 1, 1), target, false], []],
  ['few are merged daily', [sizes(1, 1, 1), target, true], [['0', '1', '2']]],
  ['one alone stays', [sizes(1), target, true], []],
  ['large ones stay', [sizes(80, 1, 90, 1), target, true], [['1', '3']]],
  ['a full group does not wait', [sizes(40, 40, 40, 1), target, false], [['0', '1']]],
  [
    'rows bound a group',
    [sizes(4, 4, 4, 4), { file_bytes: 100, file_records: 9 }, true],
    [
      ['0', '1'],
      ['2', '3'],
    ],
  ],
];

for (const [name, given, paths] of choices)
  test(`choice of files: ${name}`, () => {
    const chosen = chooseFiles(...given).map((group) => group.map(({ path }) => path));
    assert.deepEqual(chosen, paths);
  });

test('rules: a wrong property counts as the default', () => {
  const usual = rulesOf({});
  assert.equal(usual.snapshot_age_ms, 3 * 24 * hour);
  const wrong = { 'history.expire.max-snapshot-age-ms': '-1', 'write.target-file-size-bytes': 'x' };
  assert.deepEqual(rulesOf(wrong), usual);
  assert.equal(rulesOf({ 'history.expire.max-snapshot-age-ms': '5' }).snapshot_age_ms, 5);
  assert.equal(rulesOf({ 'gc.enabled': 'false' }).removes_files, false);
  assert.equal(rulesOf({ 'sluice.maintenance': 'false' }).is_on, false);
});
