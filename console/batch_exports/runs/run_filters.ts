import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';

type Status = BatchExportRun['status'];

/** Filters of the list of runs in the address. */
export const run_filters = ['status', 'after', 'before', 'action'] as const;

/** The filters of the list of runs. */
export type RunSearch = { [Name in (typeof run_filters)[number]]?: string };

/** The choices of the status filter, and their statuses. */
export const status_choices = {
  failed: { label: 'Failed', statuses: ['Failed', 'FailedRetryable', 'TimedOut', 'Terminated'] },
  open: { label: 'In progress', statuses: ['Starting', 'Running'] },
  completed: { label: 'Completed', statuses: ['Completed'] },
  cancelled: { label: 'Cancelled', statuses: ['Cancelled'] },
} as const satisfies Record<string, { label: string; statuses: readonly Status[] }>;

/** The name of a choice. */
export type StatusChoice = keyof typeof status_choices;

/** Returns the choice in the address; undefined for all. */
export function statusChoice(text: string | undefined): StatusChoice | undefined {
  return text !== undefined && Object.hasOwn(status_choices, text)
    ? (text as StatusChoice)
    : undefined;
}

/** Returns an instant of the address, or undefined for an invalid one. */
export function instantOfAddress(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** Returns the retry of the run: the first completed one, or the latest. */
export function retryOf<Run extends BatchExportRun>(
  run: BatchExportRun,
  others: Run[],
): Run | undefined {
  const work = (one: BatchExportRun) =>
    [one.kind, one.backfill, one.data_interval_start, one.data_interval_end].join(' ');
  const later = others
    .filter((one) => work(one) === work(run) && one.created_at > run.created_at)
    .toSorted((one, two) => (one.created_at < two.created_at ? -1 : 1));
  return later.find(({ status }) => status === 'Completed') ?? later.at(-1);
}

/** Returns true if the run can be cancelled. */
export function isCancellable(
  run: Pick<BatchExportRun, 'finished_at' | 'cancel_requested_at'>,
): boolean {
  return run.finished_at === null && run.cancel_requested_at === null;
}
