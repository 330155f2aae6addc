import { queryOptions } from '@tanstack/react-query';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import { ask } from '../../http/ask.ts';
import { reading } from '../../http/reading.ts';
import { now } from '../../time/now.ts';
import { pathTo } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';
import { isLively } from './lively.ts';

/** The fields of a repair of a time range. */
export type Repaired = {
  start_at: string;
  end_at: string;
  mode: Backfill['mode'];
  by: Backfill['by'];
};

/** Reads the forecast of the backfill: once, and again on request. */
export function planOf(ids: ExportIds, repaired: Repaired) {
  const path = backfillPath(ids);
  return queryOptions({
    queryKey: [path, 'plan', repaired],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', path, { body: { ...repaired, dry_run: true }, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body.backfill;
    },
    staleTime: 10_000,
  });
}

/** Returns the path of an export's backfills. */
export function backfillPath(ids: ExportIds) {
  return pathTo('/api/projects/:project_id/batch_exports/:id/backfill/', ids);
}

const backfills = '/api/projects/:project_id/batch_exports/:batch_export_id/backfills/';

/** The latest backfills of an export. */
export function latestBackfills(ids: ExportIds) {
  return reading(pathTo(backfills, ids, { limit: 100 }), {
    is_busy: ({ results }) => results.some(({ finished_at }) => finished_at === null),
  });
}

/** A backfill and its progress. */
export function oneBackfill(ids: ExportIds, id: string) {
  return reading(pathTo(`${backfills}:id/`, { ...ids, id }), {
    is_busy: (backfill) => isLively(backfill, now()),
  });
}

/**
 * Returns true if one of its runs failed and its rows were not delivered since. Its status does not
 * change if runs are retried after its end.
 */
export function hasFailed({ status, progress }: Pick<Backfill, 'status' | 'progress'>): boolean {
  return status === 'Failed' && progress.completed_runs < progress.total_runs;
}

/** Reads the ranges delivered before the export's restart, and not since. */
export function earlierDeliveries(ids: ExportIds) {
  return reading(pathTo('/api/projects/:project_id/batch_exports/:id/earlier_deliveries/', ids), {
    polls: false,
  });
}
