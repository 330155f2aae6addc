import type { Static } from 'typebox';
import type { BatchExportRunLogs } from '../../../server/api/batch_exports/logs/schema.ts';
import type { BatchExportRun, Receipt } from '../../../server/api/batch_exports/runs/schema.ts';
import { reading } from '../../http/reading.ts';
import { readingPages } from '../../http/reading_pages.ts';
import { instantOfAddress, statusChoice, status_choices } from './run_filters.ts';
import type { RunSearch } from './run_filters.ts';

const isOpen = ({ finished_at }: BatchExportRun) => finished_at === null;

/** A page of runs, with what is said of those to come. */
export type RunPage = { next: string | null; results: BatchExportRun[]; detail: string };

/** The runs of an export that fit, those of the latest data first. */
export function listedRuns(path: string, { status, after, before }: RunSearch) {
  const query = new URLSearchParams({ ordering: '-data_interval_start', limit: '100' });
  const choice = statusChoice(status);
  for (const one of choice === undefined ? [] : status_choices[choice].statuses)
    query.append('status', one);
  const [from, to] = [instantOfAddress(after), instantOfAddress(before)];
  // The list leaves out what lies at the instant itself; a slot that begins there is meant.
  if (from !== undefined) query.set('after', new Date(Date.parse(from) - 1).toISOString());
  if (to !== undefined) query.set('before', to);
  return readingPages<RunPage>(`${path}runs/?${query.toString()}`, ({ results }) =>
    results.some(isOpen),
  );
}

/** The path of a run. */
export function runPath(path: string, run_id: string): string {
  return `${path}runs/${encodeURIComponent(run_id)}/`;
}

/** One run. */
export function oneRun(path: string, run_id: string) {
  return reading<BatchExportRun>(runPath(path, run_id), { is_busy: isOpen });
}

/** The signed receipt of a completed run, which never changes. */
export function receiptOf(path: string, run_id: string) {
  return reading<Static<typeof Receipt>>(`${runPath(path, run_id)}receipt/`, { polls: false });
}

/** The lines of a run's log that fit, newest first. */
export function logOf(
  path: string,
  run_id: string,
  { level, text, limit }: { level: string | undefined; text: string | undefined; limit: number },
) {
  const query = new URLSearchParams({ limit: String(limit) });
  if (level !== undefined) query.set('level', level);
  if (text !== undefined) query.set('search', text);
  return reading<Static<typeof BatchExportRunLogs>>(
    `${runPath(path, run_id)}logs/?${query.toString()}`,
    { is_busy: isOpen },
  );
}
