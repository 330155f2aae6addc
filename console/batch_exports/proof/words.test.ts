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
  assert.equal(provenInWords(totals, []), all);
  assert.equal(provenInWords(totals, undefined), '20,783 rows stored, 20,783 delivered.');
  assert.equal(
    provenInWords({ ...totals, delivered_twice: 3 }, [
      { kind: 'doubled', state: 'open', differences: 2 },
      { kind: 'doubled', state: 'resolved', differences: 7 },
      { kind: 'missing', state: 'open', differences: 5 },
    ]),
    '20,783 rows stored, 20,783 delivered, 2 doubled. You had 3 delivered again.',
  );
  assert.equal(provenInWords({ ...totals, stored: 1, delivered: null }, []), '1 row stored.');
});

test('the line below says up to when, or what was found instead', () => {
  const at = (instant: string) => instant.slice(0, 10);
  const through = '2026-11-29T14:00:00Z';
  type Standing = Parameters<typeof throughInWords>[2];
  const open = (deviations: number): Standing => ({
    state: 'differing',
    deviations,
    verified_at: null,
    cycle_ended_at: null,
  });
  const well: Standing = {
    state: 'verified',
    deviations: 0,
    verified_at: '2026-02-02',
    cycle_ended_at: '2026-02-02',
  };
  const cases: [string | null, Partial<Verification> | undefined, Standing, string, string][] = [
    [through, {}, well, 'Verified through 2026-11-29.', 'good'],
    // A difference that was repaired since counts no more.
    [through, { differences: 2 }, well, 'Verified through 2026-11-29.', 'good'],
    [through, {}, open(2), 'Verified through 2026-11-29. 2 findings below are open.', 'bad'],
    [null, undefined, null, 'Not verified yet.', 'muted'],
    [null, {}, open(1), '1 finding below is open.', 'bad'],
    [
      null,
      { is_unproven: true },
      well,
      'A part could not be compared: the notes below say why.',
      'warn',
    ],
    [
      null,
      { is_unproven: true },
      { state: 'not_verifiable', deviations: 0, verified_at: null, cycle_ended_at: null },
      'This destination cannot be verified.',
      'muted',
    ],
    // A look of the schedule verifies too.
    [
      null,
      undefined,
      well,
      'Everything delivered before 2026-02-02 is verified. No interval of the schedule is ' +
        'verified yet.',
      'good',
    ],
    [
      null,
      {},
      well,
      'Everything delivered before 2026-01-01 is verified. No interval of the schedule is ' +
        'verified yet.',
      'good',
    ],
    [
      null,
      undefined,
      { ...well, cycle_ended_at: null },
      'No differences until 2026-02-02, but not every delivery is checked yet. No interval of ' +
        'the schedule is verified yet.',
      'muted',
    ],
  ];
  for (const [given, latest, standing, text, tone] of cases)
    assert.deepEqual(
      throughInWords(given, latest && { ...verification, ...latest }, standing, at),
      {
        text,
        tone,
      },
    );
});

test('what is not simply delivered is named, and nothing else', () => {
  const rest = (counts: Partial<ProofCounts>, earlier = 0) =>
    restInWords({ ...totals, ...counts }, earlier).map(({ name, rows, tone }) => [
      name,
      rows,
      tone,
    ]);
  assert.deepEqual(rest({}), []);
  assert.deepEqual(rest({ waiting: 2, not_delivered: 7, left_out: null }), [
    ['Waiting for the schedule', 2, ''],
    ['Not delivered', 7, 'bad'],
  ]);
  // Nothing is wrong with rows that were there before the export.
  assert.deepEqual(rest({ not_delivered: 7 }, 5), [
    ['From before this export', 5, ''],
    ['Not delivered', 2, 'bad'],
  ]);
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
  assert.equal(stateOf({ ...verification, is_unproven: true }, true).word, 'Receipts checked');
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
