import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import type { Listed } from '../http/list.ts';
import { reading } from '../http/reading.ts';

/** So many exports stand on a page of the list. */
const page_size = 50;

/** One page of a project's exports, newest first; pages count from 1. */
export function batchExports(project_id: string, page: number) {
  const query = new URLSearchParams({
    limit: String(page_size),
    offset: String((page - 1) * page_size),
  });
  return reading<Listed<BatchExport>>(
    `/api/projects/${encodeURIComponent(project_id)}/batch_exports/?${query.toString()}`,
    { is_busy: ({ results }) => results.some(isUnderWay) },
  );
}

function isUnderWay({ latest_runs }: BatchExport): boolean {
  return latest_runs.some(({ finished_at }) => finished_at === null);
}
