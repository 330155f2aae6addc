import type { Static } from 'typebox';
import type {
  AttemptSteps,
  BatchExportRun,
} from '../../../server/api/batch_exports/runs/schema.ts';
import { counted, inBytes, inTime } from '../../page/text/quantities.ts';

/** The times of one attempt at a run. */
export type Attempt = Static<typeof AttemptSteps>;

/** The steps of a worker, in order. */
const work_steps = ['counted', 'read', 'sent', 'committed'] as const;

/** A step of a run: what happened, when it began, and how long it took, if known. */
export type Step = { name: string; at: string | null; took: string | null; told: string };

/** Returns the steps of a run, with the times of its latest attempt. */
export function stepsOf(run: BatchExportRun): Step[] {
  const attempt = run.steps.at(-1);
  const { records_total_count: total, records_completed: done } = run;
  // Reading and sending alternate, so both begin here.
  const counted_at = attempt?.began_at ?? null;
  const written_at = later(counted_at, attempt?.counted_ms);
  const committed_at = later(written_at, sumOf(attempt?.read_ms, attempt?.sent_ms));
  const safe = run.cursor === null ? '' : `, ${counted(Number(run.cursor), 'slice')} safe`;
  const isOver = run.finished_at !== null;
  return [
    {
      name: 'Waited for a worker',
      at: run.created_at,
      took: took(attempt?.waited_ms),
      told: waitedFor(run),
    },
    {
      name: 'Counted at the source',
      at: counted_at,
      took: took(attempt?.counted_ms),
      told: total === null ? 'Not yet.' : `${counted(total, 'row')}.`,
    },
    {
      name: 'Read',
      at: written_at,
      took: took(attempt?.read_ms),
      told: 'The time it waited for the source.',
    },
    {
      name: 'Sent',
      at: written_at,
      took: took(attempt?.sent_ms),
      told:
        done === null
          ? 'Not yet.'
          : `${counted(done, 'row')}, ${inBytes(run.bytes_completed)}${safe}.`,
    },
    {
      name: lastStepOf(run),
      at: run.status === 'Completed' ? (committed_at ?? run.finished_at) : run.finished_at,
      took: took(attempt?.committed_ms),
      told:
        run.status === 'Completed'
          ? 'Sluice signs its receipt.'
          : isOver || run.next_try_at !== null
            ? (run.latest_error ?? '')
            : '',
    },
  ].filter(({ name, at, took: length, told }) =>
    name === 'Read' || name === 'Sent' ? length !== null : told !== '' || at !== null,
  );
}

function lastStepOf({ status, finished_at, next_try_at }: BatchExportRun): string {
  if (next_try_at !== null) return 'Failed';
  return status === 'Completed' || finished_at === null ? 'Committed' : 'Ended';
}

function waitedFor({ status, steps, finished_at }: BatchExportRun): string {
  if (steps.length > 1) return `A worker took it, for the ${ordinal(steps.at(-1)!.attempt)} time.`;
  if (steps.length === 1) return 'A worker took it.';
  if (status === 'Starting') return 'It waits.';
  return finished_at === null ? '' : 'No worker started it.';
}

function ordinal(number: number): string {
  const ends = { one: 'st', two: 'nd', few: 'rd', other: 'th', many: 'th', zero: 'th' };
  return `${number}${ends[new Intl.PluralRules('en', { type: 'ordinal' }).select(number)]}`;
}

/** Returns the times of an attempt in words, as far as it got: `counted 40 ms, read 1.2 s`. */
export function attemptInWords(attempt: Attempt): string {
  const told = work_steps.flatMap((step) => {
    const length = took(attempt[`${step}_ms`]);
    return length === null ? [] : [`${step} ${length}`];
  });
  return [`waited ${took(attempt.waited_ms)}`, ...told].join(', ');
}

function took(milliseconds: number | null | undefined): string | null {
  if (milliseconds === null || milliseconds === undefined) return null;
  return milliseconds < 950 ? `${milliseconds} ms` : inTime(milliseconds / 1000);
}

function later(at: string | null, milliseconds: number | null | undefined): string | null {
  if (at === null || milliseconds === null || milliseconds === undefined) return null;
  return new Date(Date.parse(at) + milliseconds).toISOString();
}

function sumOf(one: number | null | undefined, other: number | null | undefined): number | null {
  return one === null && other === null ? null : (one ?? 0) + (other ?? 0);
}

function refusedIn({ records_rejected: refused }: BatchExportRun): string {
  if (refused === 0) return '';
  return (
    ` The destination refused ${counted(refused, 'row')}: ` +
    `${refused === 1 ? 'it is' : 'they are'} set aside beside the table, with the reason.`
  );
}

/** Returns which attempt failed, and why. */
function failedAttempt({ steps, latest_error }: BatchExportRun): string {
  const attempt = steps.at(-1)?.attempt;
  const error = latest_error ?? 'the log of the run says why.';
  return `${attempt === undefined ? 'An attempt' : `Attempt ${attempt}`} failed: ${error}`;
}

/** Returns the outcome of a run as a sentence. */
export function outcomeOf(run: BatchExportRun): string {
  const rows = run.records_completed ?? 0;
  switch (run.status) {
    case 'Completed':
      return rows + run.records_rejected === 0
        ? 'Completed without rows.'
        : `Completed: ${counted(rows, 'row')} in ${inBytes(run.bytes_completed)}, each counted ` +
            `at the source and safe at the destination.${refusedIn(run)}`;
    case 'Starting':
      return run.latest_error === null
        ? 'Waiting for a worker.'
        : `Waiting for the next attempt: ${run.latest_error}`;
    case 'Running':
      if (run.next_try_at !== null) return failedAttempt(run);
      return run.records_total_count === null
        ? 'A worker counts the rows.'
        : `A worker delivers: ${counted(rows, 'row')} of ` +
            `${run.records_total_count.toLocaleString('en')} are safe.`;
    case 'Cancelled':
      return 'Cancelled: nothing was delivered.';
    default:
      return `Failed: ${run.latest_error ?? 'the log of the run says why.'}`;
  }
}
