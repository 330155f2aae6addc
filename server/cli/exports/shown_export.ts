import type { ExportOverview } from '../../api/batch_exports/overview/schema.ts';
import type { BatchExportRun } from '../../api/batch_exports/runs/schema.ts';
import type { Column, Mood, Output } from '../client/print.ts';

const health_moods: Partial<Record<string, Mood>> = {
  up_to_date: 'good',
  waiting: 'quiet',
  paused: 'quiet',
  ended: 'quiet',
  running: 'busy',
  retrying: 'busy',
  unusual_volume: 'busy',
};
const run_moods: Partial<Record<string, Mood>> = {
  Completed: 'good',
  Starting: 'busy',
  Running: 'busy',
  Cancelled: 'quiet',
};
/** The statuses of runs that can still change. */
const open_statuses: readonly string[] = ['Starting', 'Running'];

/** Returns true if a run or a backfill has ended. */
export function hasEnded({ status }: { status: string }): boolean {
  return !open_statuses.includes(status);
}

/** Returns the colour of an export's health. */
function moodOfHealth(code: string): Mood {
  return health_moods[code] ?? 'bad';
}

/** Returns the colour of the status of a run or a backfill. */
export function moodOfStatus(status: string): Mood {
  return run_moods[status] ?? 'bad';
}

/** Returns an instant: to the second and with its zone for a person, unchanged for a program. */
export function shownInstant({ is_terminal }: Output, at: string | null): string {
  if (at === null) return '';
  return is_terminal ? `${at.slice(0, 19).replace('T', ' ')}Z` : at;
}

/** Columns of the list of exports. */
export function exportColumns(output: Output): Column<ExportOverview>[] {
  return [
    { title: 'name', text: ({ name }) => name },
    { title: 'destination', text: ({ destination_type }) => destination_type },
    { title: 'interval', text: ({ interval }) => interval },
    {
      title: 'health',
      text: ({ health }) => (output.is_terminal ? health.code.replaceAll('_', ' ') : health.code),
      mood: ({ health }) => moodOfHealth(health.code),
    },
    { title: 'delivered until', text: (one) => shownInstant(output, one.delivered_until) },
    { title: 'id', text: ({ id }) => id },
    { title: 'since', text: ({ health }) => shownInstant(output, health.since) },
    { title: 'verified through', text: (one) => shownInstant(output, one.verified_through) },
    // Last, because a table cuts the last column alone.
    { title: 'cause', text: ({ health }) => health.cause },
  ];
}

/** Columns of the list of runs. */
export function runColumns(output: Output): Column<BatchExportRun>[] {
  return [
    {
      title: 'status',
      text: ({ status }) => status,
      mood: ({ status }) => moodOfStatus(status),
    },
    { title: 'kind', text: ({ kind }) => kind },
    { title: 'from', text: (run) => shownInstant(output, run.data_interval_start) },
    { title: 'to', text: (run) => shownInstant(output, run.data_interval_end) },
    { title: 'rows', text: ({ records_completed }) => records_completed },
    { title: 'id', text: ({ id }) => id },
    { title: 'error', text: ({ latest_error }) => latest_error },
  ];
}
