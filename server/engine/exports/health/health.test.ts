import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthAfterRun, newHealth } from './health.ts';
import type { EndedRun, Health } from './health.ts';

type Step = {
  status: EndedRun['status'];
  revision?: number;
  volume?: boolean;
  has_rows?: boolean;
  rejected?: boolean;
  missing?: boolean;
  end?: string | null;
  age?: number;
};
const completed: Step = { status: 'Completed' };
const failed: Step = { status: 'Failed' };
const empty: Step = { status: 'Completed', has_rows: false };

/** The changes of each step, as `+failing` or `-failing`, and the health at the end. */
function follow(steps: Step[]): { changes: string[]; health: Health } {
  let health = newHealth(1);
  const changes: string[] = [];
  for (const step of steps) {
    const { status, revision = 1, volume, has_rows = true, missing = false } = step;
    const { end = '2026-01-01T00:00:00Z', rejected = false, age = null } = step;
    const next = healthAfterRun(health, {
      status,
      revision,
      delivered_until: end,
      is_volume_unusual: volume,
      is_incomplete: missing,
      lacks_backfilled: false,
      has_rows,
      has_rejected: rejected,
      row_ages: { oldest_row_seconds: age, newest_row_seconds: age },
    });
    changes.push(
      next.changes
        .map(({ condition, has_begun }) => `${has_begun ? '+' : '-'}${condition}`)
        .join(' '),
    );
    health = next.health;
  }
  return { changes, health };
}

const cases: [what: string, steps: Step[], changes: string[], health: Partial<Health>][] = [
  [
    'the ages are those of the latest run of the schedule that had rows',
    [
      { ...completed, end: '2026-01-02T00:00:00Z', age: 61 },
      { ...empty, end: '2026-01-03T00:00:00Z' },
      { ...completed, end: null, age: 90_000 },
    ],
    ['', '', ''],
    { oldest_row_seconds: 61, newest_row_seconds: 61, delivered_until: '2026-01-03T00:00:00Z' },
  ],
  [
    'a new revision has no ages',
    [
      { ...completed, age: 61 },
      { ...failed, revision: 2 },
    ],
    ['', '+failing'],
    { oldest_row_seconds: null },
  ],
  [
    'good runs tell nothing',
    [completed, completed],
    ['', ''],
    { is_failing: false, consecutive_failures: 0 },
  ],
  [
    'refused rows tell once, until a run with rows has none; a run without rows says nothing',
    [{ ...completed, rejected: true }, { ...completed, rejected: true }, empty, completed],
    ['+rejecting', '', '', '-rejecting'],
    { is_rejecting: false },
  ],
  [
    'the first failure of an export tells',
    [failed],
    ['+failing'],
    { is_failing: true, consecutive_failures: 1 },
  ],
  [
    'an interval is missing for as long as it is said, over good runs, and nothing is told of it',
    [
      { ...failed, missing: true },
      { ...completed, missing: true },
    ],
    ['+failing', '-failing'],
    { is_failing: false, is_incomplete: true },
  ],
  [
    'a new revision misses nothing of the one before, and a cancelled run changes nothing',
    [{ ...failed, missing: true }, { ...completed, revision: 2 }, { status: 'Cancelled' }],
    ['+failing', '-failing', ''],
    { is_incomplete: false },
  ],
  [
    'further failures count and tell nothing',
    [failed, { status: 'FailedRetryable' }, failed],
    ['+failing', '', ''],
    { consecutive_failures: 3 },
  ],
  [
    'the first good run ends it',
    [failed, failed, completed, completed],
    ['+failing', '', '-failing', ''],
    { is_failing: false, consecutive_failures: 0 },
  ],
  [
    'a cancelled run changes nothing',
    [failed, { status: 'Cancelled' }, failed],
    ['+failing', '', ''],
    { consecutive_failures: 2 },
  ],
  [
    'a run without rows asked the destination nothing, so failures go on over it',
    [failed, empty, failed, completed],
    ['+failing', '', '', '-failing'],
    { is_failing: false, consecutive_failures: 0 },
  ],
  [
    'failures add up over runs without rows, which say how far the schedule is all the same',
    [failed, { ...empty, end: '2026-01-02T00:00:00Z' }, { ...failed, end: null }, empty],
    ['+failing', '', '', ''],
    { consecutive_failures: 2, is_failing: true, delivered_until: '2026-01-02T00:00:00Z' },
  ],
  [
    'a new revision goes on failing, and counts anew',
    [failed, failed, { ...failed, revision: 2 }],
    ['+failing', '', ''],
    { consecutive_failures: 1, revision: 2 },
  ],
  [
    'a new revision that works has recovered',
    [failed, { ...completed, revision: 2 }],
    ['+failing', '-failing'],
    { is_failing: false },
  ],
  [
    'an unusual volume tells once, until it is usual again',
    [
      { ...completed, volume: true },
      { ...completed, volume: true },
      completed,
      { ...completed, volume: false },
    ],
    ['+unusual_volume', '', '', '-unusual_volume'],
    { is_volume_unusual: false },
  ],
  [
    'a new revision has no usual volume yet, and no end of an unusual one is told',
    [
      { ...completed, volume: true },
      { ...completed, revision: 2 },
    ],
    ['+unusual_volume', ''],
    { is_volume_unusual: false },
  ],
  [
    'both can change at once',
    [failed, { ...completed, volume: true }],
    ['+failing', '-failing +unusual_volume'],
    {},
  ],
  [
    'an older interval does not move what is delivered back',
    [
      { ...completed, end: '2026-01-02T00:00:00Z' },
      { ...completed, end: '2026-01-01T00:00:00Z' },
    ],
    ['', ''],
    { delivered_until: '2026-01-02T00:00:00Z' },
  ],
  [
    'a run that made up for a backfill does not move what is delivered',
    [completed, { ...completed, end: null }],
    ['', ''],
    { delivered_until: '2026-01-01T00:00:00Z' },
  ],
  ['a failed run delivers nothing', [failed], ['+failing'], { delivered_until: null }],
];

for (const [what, steps, changes, health] of cases) {
  test(what, () => {
    const found = follow(steps);
    assert.deepEqual(found.changes, changes);
    assert.deepEqual({ ...found.health, ...health }, found.health);
  });
}
