import { queryOptions } from '@tanstack/react-query';
import type {
  BulkAction,
  BulkActionItem,
} from '../../../server/api/batch_exports/bulk_actions/schema.ts';
import { ask } from '../../http/ask.ts';
import type { Listed } from '../../http/list.ts';
import { reading } from '../../http/reading.ts';

/** How many runs an action would be about now; nothing is done. */
export function matchingRuns(path: string, body: object) {
  const asked = `${path}runs/bulk/?validate_only=true`;
  return queryOptions({
    queryKey: [asked, body],
    queryFn: async ({ signal }): Promise<Pick<BulkAction, 'progress'>> => {
      const outcome = await ask<BulkAction>('POST', asked, { body, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
  });
}

/** So many results are read at once. */
export const items_at_once = 100;

/** One page of the results of an action, or of those that ended in this way; pages count from 0. */
export function actionItems(path: string, outcome: BulkActionItem['outcome'] | '', page: number) {
  const only = outcome === '' ? '' : `outcome=${outcome}&`;
  const part = `limit=${items_at_once}&offset=${page * items_at_once}`;
  return reading<Listed<BulkActionItem>>(`${path}?${only}${part}`, {
    is_busy: ({ results }) => results.some((item) => item.outcome === 'pending'),
  });
}

/** An action on many runs, and how far it is. */
export function oneAction(project_path: string, id: string) {
  return reading<BulkAction>(`${project_path}${encodeURIComponent(id)}/`, {
    is_busy: ({ finished_at }) => finished_at === null,
  });
}
