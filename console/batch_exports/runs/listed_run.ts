import type { BatchExportRun, RetryAnswer } from '../../../server/api/batch_exports/runs/schema.ts';

/** A run, and the answer to its retry; null if it did not fail. */
export type ListedRun = BatchExportRun & { retry: RetryAnswer | null };

/** Returns the runs of pages of the list, each with the answer to its retry. */
export function runsOf(
  pages: { results: BatchExportRun[]; retries: Partial<Record<string, RetryAnswer>> }[],
): ListedRun[] {
  return pages.flatMap(({ results, retries }) =>
    results.map((run) => ({ ...run, retry: retries[run.id] ?? null })),
  );
}
