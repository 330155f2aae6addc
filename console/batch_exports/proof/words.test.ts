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

test('one sentence says what is stored and delivered, and nothing about the place', () => {
  assert.equal(provenInWords(totals), '20,783 rows stored, 20,783 delivered.');
  assert.equal(
    provenInWords({ ...totals, delivered_twice: 3 }),
    '20,783 rows stored, 20,783 delivered. You had 3 delivered again.',
  );
  assert.equal(provenInWords({ ...totals, stored: 1, delivered: null }), '1 row stored.');
});

test('the line below says up to when, and what was found', () => {
  const at = (instant: string) => instant.slice(0, 10);
  const through = '2026-11-29T14:00:00Z';
  type Given = Parameters<typeof throughInWords>;
  const standing = (changes: Partial<NonNullable<Given[2]>> = {}): Given[2] => ({
    state: 'verified',
    deviations: 0,
    accepted: 0,
    verified_at: '2026-02-02',
    cycle_ended_at: '2026-02-02',
    ...changes,
  });
  const open = (deviations: number) =>
    standing({ state: 'differing', deviations, verified_at: null });
  const one: Given[3][number] = { kind: 'missing', state: 'open', differences: 5 };
  const found: Given[3] = [
    one,
    { kind: 'doubled', state: 'open', differences: 2 },
    { kind: 'doubled', state: 'resolved', differences: 7 },
    { kind: 'missing', state: 'open', differences: 1_000 },
  ];
  const still = standing({ state: 'standing_still' });
  const well = 'Verified through 2026-11-29: nothing is missing, changed or doubled.';
  const whole = (day: string) =>
    `Everything delivered before ${day} is verified. No interval of the schedule is verified yet.`;
  const cases: [Given[0], Partial<Verification> | undefined, Given[2], Given[3], string, string][] =
    [
      [through, {}, standing(), [], well, 'good'],
      // A difference that was repaired since counts no more.
      [through, { differences: 2 }, standing(), [found[2]!], well, 'good'],
      [
        through,
        {},
        standing({ accepted: 1 }),
        [{ ...one, state: 'accepted' }],
        'Verified through 2026-11-29, except for 1 accepted finding.',
        'good',
      ],
      [
        through,
        {},
        open(3),
        found,
        'Verified through 2026-11-29. 3 findings below are open: 1,005 missing, 2 doubled.',
        'bad',
      ],
      // A page of findings has only some of them.
      [null, {}, open(9), found, '9 findings below are open.', 'bad'],
      [null, {}, open(1), [one], '1 finding below is open: 5 missing.', 'bad'],
      [null, undefined, null, [], 'Not verified yet.', 'muted'],
      [
        through,
        {},
        still,
        [],
        'Verified through 2026-11-29. Verification has stopped: the findings below say why.',
        'warn',
      ],
      [
        null,
        {},
        { ...still!, deviations: 1 },
        [one],
        '1 finding below is open: 5 missing. Verification has stopped: the findings below say why.',
        'bad',
      ],
      [
        null,
        { is_unproven: true },
        standing(),
        [],
        'A part could not be compared: the notes below say why.',
        'warn',
      ],
      [
        null,
        { is_unproven: true },
        standing({ state: 'not_verifiable', verified_at: null }),
        [],
        'This destination cannot be verified.',
        'muted',
      ],
      // A look of the schedule verifies too.
      [null, undefined, standing(), [], whole('2026-02-02'), 'good'],
      [null, {}, standing(), [], whole('2026-01-01'), 'good'],
      [
        null,
        undefined,
        standing({ cycle_ended_at: null }),
        [],
        'No differences until 2026-02-02, but not every delivery is checked yet. No interval of ' +
          'the schedule is verified yet.',
        'muted',
      ],
    ];
  for (const [given, latest, verified, listed, text, tone] of cases)
    assert.deepEqual(
      throughInWords(given, latest && { ...verification, ...latest }, verified, listed, at),
      { text, tone },
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
