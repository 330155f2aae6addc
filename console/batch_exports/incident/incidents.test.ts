import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import type { ListedRun } from '../runs/listed_run.ts';
import { doubledIn, incidentsOf } from './incidents.ts';
import { isInTrouble } from './trouble.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 22, minute)).toISOString();
const error = 'The server does not answer.';

/** The run of five minutes from this one on, with as many failed attempts, a minute apart. */
function runOf(minute: number, failures: number, more: Partial<ListedRun> = {}): ListedRun {
  const attempts = failures + (more.status === undefined ? 1 : 0);
  return {
    id: `run ${minute}`,
    delivery_id: `run ${minute}`,
    kind: 'scheduled',
    backfill: null,
    status: 'Completed',
    data_interval_start: at(minute),
    data_interval_end: at(minute + 5),
    created_at: at(minute + 5),
    finished_at: at(minute + 6 + failures),
    last_updated_at: at(minute + 6 + failures),
    records_total_count: 100,
    records_completed: 100,
    records_rejected: 0,
    bytes_completed: 1,
    latest_error: failures > 0 ? error : null,
    next_try_at: null,
    repeats: null,
    retry: null,
    steps: Array.from({ length: attempts }, (_, index) => ({
      attempt: index + 1,
      began_at: at(minute + 5 + index),
      waited_ms: index === 0 ? 0 : 60_000,
      counted_ms: 1,
      read_ms: null,
      sent_ms: null,
      committed_ms: null,
    })),
    ...more,
  } as ListedRun;
}

const open = { status: 'Running', finished_at: null, records_completed: 0 } as const;

test('an outage is one incident, from the first failure to the last delivery', () => {
  const runs = [runOf(0, 0), runOf(5, 3), runOf(10, 2), runOf(15, 0)].toReversed();
  const [incident, ...others] = incidentsOf(runs, Date.parse(at(59)));
  assert.equal(others.length, 0);
  const { since, until, data, failed_attempts, cause, missing } = incident!;
  assert.deepEqual(
    { since, until, data, failed_attempts, cause, missing },
    {
      since: at(10),
      until: at(18),
      data: { from: at(5), to: at(15) },
      failed_attempts: 5,
      cause: error,
      missing: [],
    },
  );
  assert.deepEqual(
    [incident!.counted, incident!.delivered, incident!.refused, incident!.is_partial],
    [200, 200, 0, false],
  );
});

test('an open incident counts what is missing, and when it is tried next', () => {
  const waiting = (minute: number, next: number) =>
    runOf(minute, 2, { ...open, next_try_at: at(next) });
  const runs = [waiting(10, 31), runOf(5, 1), waiting(0, 30)];
  const [incident] = incidentsOf(runs, Date.parse(at(20)));
  assert.equal(incident!.until, null);
  assert.deepEqual(
    [incident!.missing.length, incident!.next_try_at, incident!.delivered, incident!.counted],
    [2, at(30), 100, 300],
  );
});

test('outages apart in time are incidents apart, whatever lies between their data', () => {
  const at_once = incidentsOf([runOf(5, 1), runOf(3, 1)], Date.parse(at(59)));
  assert.equal(at_once.length, 1);
  const apart = incidentsOf([runOf(20, 1), runOf(0, 2)], Date.parse(at(59)));
  assert.deepEqual(
    apart.map(({ since }) => since),
    [at(25), at(5)],
  );
  // A missing interval belongs to the failures after it.
  const failed = { ...open, status: 'Failed', retry: 'possible' } as const;
  const lasting = runOf(0, 1, { ...failed, finished_at: at(6) });
  assert.equal(incidentsOf([runOf(20, 1), lasting], Date.parse(at(59))).length, 1);
});

test('only a backfill of all rows over it doubles rows of an incident', () => {
  const [incident] = incidentsOf([runOf(5, 1)], 0);
  const backfill = (more: Partial<Backfill>) =>
    ({
      mode: 'all',
      by: 'inserted_at',
      start_at: at(0),
      end_at: at(20),
      created_at: at(30),
      progress: { records_completed: 7 },
      ...more,
    }) as Backfill;
  const doubled = (more: Partial<Backfill>) => doubledIn(incident!, [backfill(more)]);
  assert.equal(doubled({}), 7);
  assert.equal(doubled({ mode: 'missing' }), 0);
  assert.equal(doubled({ start_at: at(10) }), 0);
  assert.equal(doubled({ created_at: at(1) }), 0);
});

test('an export is in trouble while a run fails, retries, or left an interval out', () => {
  const health = { code: 'up_to_date', detail: 'Up to date.', since: null } as const;
  const well = { health, retrying: null, failed_interval: null };
  const some = {} as never;
  assert.equal(isInTrouble(well), false);
  assert.equal(isInTrouble({ ...well, retrying: some }), true);
  assert.equal(isInTrouble({ ...well, failed_interval: some }), true);
  assert.equal(isInTrouble({ ...well, health: { ...health, code: 'failing' } }), true);
});
