import type { BatchExportRun } from '../../../server/api/batch_exports/runs/schema.ts';
import { reading } from '../../http/reading.ts';
import { readingPages } from '../../http/reading_pages.ts';
import { instantOfAddress, statusChoice, status_choices } from './run_filters.ts';
import type { RunSearch } from './run_filters.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

const runs = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/';
const isOpen = ({ finished_at }: BatchExportRun) => finished_at === null;

/** The matching runs of an export, latest data first. */
export function listedRuns(ids: ExportIds, { status, after, before }: RunSearch) {
  const choice = statusChoice(status);
  const from = instantOfAddress(after);
  const query = {
    ordering: '-data_interval_start',
    limit: 100,
    status: choice === undefined ? undefined : [...status_choices[choice].statuses],
    // The API excludes the instant itself, but a slot that starts there is included here.
    after: from === undefined ? undefined : new Date(Date.parse(from) - 1).toISOString(),
    before: instantOfAddress(before),
  } as const;
  return readingPages(pathTo(runs, ids, query), ({ results }) => results.some(isOpen));
}

/** The latest runs of an export by their data, one page. */
export function latestRuns(ids: ExportIds) {
  return reading(pathTo(runs, ids, { ordering: '-data_interval_start', limit: 100 }), {
    is_busy: ({ results }) => results.some(isOpen),
  });
}

/** The path of a run. */
export function runPath(ids: ExportIds, run_id: string) {
  return pathTo(`${runs}:id/`, { ...ids, id: run_id });
}

/** One run. */
export function oneRun(ids: ExportIds, run_id: string) {
  return reading(runPath(ids, run_id), { is_busy: isOpen });
}

/** The signed receipt of a completed run, which never changes. */
export function receiptOf(ids: ExportIds, run_id: string) {
  return reading(receiptPath(ids, run_id), { polls: false });
}

/** The path of a receipt. */
export function receiptPath(ids: ExportIds, run_id: string) {
  return pathTo(`${runs}:id/receipt/`, { ...ids, id: run_id });
}

/** Filters of a run's log; the bounds are exclusive. */
type LogFilter = {
  level: readonly string[] | undefined;
  text: string | undefined;
  limit: number;
  after?: string;
  before?: string;
};

/** The matching lines of a run's log, newest first. */
export function logOf(ids: ExportIds, run_id: string, { level, text, ...more }: LogFilter) {
  const query = { ...more, level: level && [...level], search: text };
  return reading(pathTo(`${runs}:id/logs/`, { ...ids, id: run_id }, query), { is_busy: isOpen });
}
