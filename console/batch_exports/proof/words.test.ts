import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProofCounts } from '../../../server/api/batch_exports/proof/schema.ts';
import type {
  Verification,
  VerificationFinding,
} from '../../../server/api/batch_exports/verifications/schema.ts';
import { doneOf, groupsOf, provenInWords, restInWords, stateOf, throughInWords } from './words.ts';

const totals: ProofCounts = {
  stored: 20_783,
  left_out: 0,
  delivered: 20_783,
  delivered_twice: 0,
  set_aside: 0,
  in_progress: 0,
  waiting: 0,
  not_delivered: 0,
  erased: 0,
};
const counts = {
  missing: 0,
  doubled: 0,
  changed: 0,
  foreign: 0,
  receipt: 0,
  unreadable: 0,
  uncertain: 0,
};
const verification: Verification = {
  id: 'v',
  batch_export: 'e',
  status: 'Completed',
  start_at: null,
  end_at: null,
  detail: '',
  progress: {
    deliveries: 4,
    deliveries_checked: 1,
    records: 100,
    records_checked: 50,
    estimated_end_at: null,
  },
  differences: 0,
  counts,
  notes: [],
  is_unproven: false,
  verified_through: null,
  created_at: '2026-01-01T00:00:00Z',
  started_at: null,
  finished_at: '2026-01-01T00:00:00Z',
  last_updated_at: '2026-01-01T00:00:00Z',
};

test('one sentence says what is stored, delivered and doubled', () => {
  const all = '20,783 rows stored, 20,783 delivered, 0 doubled.';
  assert.equal(provenInWords(totals, undefined), all);
  assert.equal(
    provenInWords({ ...totals, delivered_twice: 3 }, { counts: { ...counts, doubled: 2 } }),
    '20,783 rows stored, 20,783 delivered, 2 doubled. You had 3 delivered again.',
  );
  assert.equal(
    provenInWords({ ...totals, stored: 1, delivered: null }, undefined),
    '1 row stored.',
  );
});

test('the line below says up to when, or what was found instead', () => {
  const at = (instant: string) => instant.slice(0, 10);
  const through = '2026-11-29T14:00:00Z';
  const cases: [string | null, Partial<Verification> | undefined, string, string][] = [
    [through, {}, 'Verified through 2026-11-29.', 'good'],
    [
      through,
      { differences: 2 },
      'Verified through 2026-11-29. The latest verification found 2 differences.',
      'bad',
    ],
    [null, undefined, 'Not verified yet.', 'muted'],
    [null, { differences: 1 }, 'The latest verification found 1 difference.', 'bad'],
    [null, { is_unproven: true }, 'A part could not be compared: the notes below say why.', 'warn'],
    [
      null,
      {},
      'Everything delivered before 2026-01-01 is verified. The schedule has not delivered an ' +
        'interval yet.',
      'good',
    ],
  ];
  for (const [given, latest, text, tone] of cases)
    assert.deepEqual(throughInWords(given, latest && { ...verification, ...latest }, at), {
      text,
      tone,
    });
});

test('what is not simply delivered is named, and nothing else', () => {
  assert.deepEqual(restInWords(totals), []);
  assert.deepEqual(
    restInWords({ ...totals, waiting: 2, not_delivered: 7, left_out: null }).map(
      ({ name, rows, tone }) => [name, rows, tone],
    ),
    [
      ['Waiting for the schedule', 2, ''],
      ['Not delivered', 7, 'bad'],
    ],
  );
});

test('a verification has a word and a share for each state', () => {
  const states: [Partial<Verification>, string, string][] = [
    [{ status: 'Starting' }, 'Waiting', ''],
    [{ status: 'Running', differences: 3 }, 'In progress', ''],
    [{ status: 'Cancelled' }, 'Cancelled', 'warn'],
    [{ status: 'Failed' }, 'Failed', 'bad'],
    [{}, 'As delivered', 'good'],
    [{ is_unproven: true }, 'Partly verified', 'warn'],
    [{ differences: 1, is_unproven: true }, '1 difference', 'bad'],
  ];
  for (const [given, word, tone] of states)
    assert.deepEqual(stateOf({ ...verification, ...given }), { word, tone });
  assert.equal(doneOf(verification), 100);
  const open = { ...verification, finished_at: null };
  assert.equal(doneOf(open), 50);
  const { progress } = open;
  assert.equal(doneOf({ ...open, progress: { ...progress, records: 0 } }), 25);
  assert.equal(doneOf({ ...open, progress: { ...progress, deliveries: null } }), 0);
});

test('findings stand together by their delivery, those without one last as they came', () => {
  const finding = (number: number, id: string | null): VerificationFinding => ({
    number,
    kind: 'missing',
    name: 'a',
    detail: 'b',
    column: null,
    expected: null,
    found: null,
    delivery:
      id === null
        ? null
        : { id, run: id, data_interval_start: '', data_interval_end: '', by: 'inserted_at' },
    repair: null,
  });
  const groups = groupsOf([finding(1, 'x'), finding(2, null), finding(3, 'x')]);
  assert.deepEqual(
    groups.map(({ delivery, findings }) => [delivery?.id, findings.map(({ number }) => number)]),
    [
      ['x', [1, 3]],
      [undefined, [2]],
    ],
  );
});
