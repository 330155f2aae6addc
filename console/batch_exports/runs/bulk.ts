import { queryOptions } from '@tanstack/react-query';
import type { BulkActionItem } from '../../../server/api/batch_exports/bulk_actions/schema.ts';
import { ask } from '../../http/ask.ts';
import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import type { Body } from '../../http/path.ts';
import type { ExportIds } from '../export_context.ts';

/** The path of bulk actions on an export's runs. */
export const many_runs = '/api/projects/:project_id/batch_exports/:batch_export_id/runs/bulk/';

/** Counts the runs of an action now, without acting on them. */
export function matchingRuns(ids: ExportIds, body: Body<'POST', typeof many_runs>) {
  const asked = pathTo(many_runs, ids, { validate_only: true });
  return queryOptions({
    queryKey: [asked, body],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', asked, { body, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
  });
}

/** The ids of a bulk action in the API's paths. */
export type ActionIds = { project_id: string | number; id: string };

/** Returns the path that aborts a bulk action. */
export function abortPath(action: ActionIds) {
  return pathTo('/api/projects/:project_id/bulk_actions/:id/abort/', action);
}

/** Results read at a time. */
export const items_at_once = 100;

/** A page of the results of an action, or of those with an outcome; pages count from 0. */
export function actionItems(
  action: ActionIds,
  outcome: BulkActionItem['outcome'] | undefined,
  page: number,
) {
  const query = { outcome, limit: items_at_once, offset: page * items_at_once };
  return reading(pathTo('/api/projects/:project_id/bulk_actions/:id/items/', action, query), {
    is_busy: ({ results }) => results.some((item) => item.outcome === 'pending'),
  });
}

/** A bulk action on runs, and its progress. */
export function oneAction(action: ActionIds) {
  return reading(pathTo('/api/projects/:project_id/bulk_actions/:id/', action), {
    is_busy: ({ finished_at }) => finished_at === null,
  });
}
