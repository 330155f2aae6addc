import type { BatchExport } from '../../server/api/batch_exports/schema.ts';
import { reading } from '../http/reading.ts';
import { pathTo } from '../http/path.ts';
import { pageQuery } from '../http/page_number.ts';

/** One page of a project's exports, newest first; pages count from 1. */
export function batchExports(project_id: string, page: number) {
  return reading(
    pathTo('/api/projects/:project_id/batch_exports/', { project_id }, pageQuery(page)),
    { is_busy: ({ results }) => results.some(isUnderWay) },
  );
}

function isUnderWay({ latest_runs }: BatchExport): boolean {
  return latest_runs.some(({ finished_at }) => finished_at === null);
}
