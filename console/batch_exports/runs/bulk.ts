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

/** The first results of an action, or those of them that ended in this way. */
export function actionItems(path: string, outcome: BulkActionItem['outcome'] | undefined) {
  const only = outcome === undefined ? '' : `outcome=${outcome}&`;
  return reading<Listed<BulkActionItem>>(`${path}?${only}limit=50`);
}

/** An action on many runs, and how far it is. */
export function oneAction(project_path: string, id: string) {
  return reading<BulkAction>(`${project_path}${encodeURIComponent(id)}/`, {
    is_busy: ({ finished_at }) => finished_at === null,
  });
}
