import { queryOptions } from '@tanstack/react-query';
import type { Backfill } from '../../../server/api/batch_exports/backfills/schema.ts';
import type { Listed } from '../../http/list.ts';
import { ask } from '../../http/ask.ts';
import { reading } from '../../http/reading.ts';

/** What is asked for when a part of time is repaired. */
export type Repaired = {
  start_at: string;
  end_at: string;
  mode: Backfill['mode'];
  by: Backfill['by'];
};

/** What the backfill would do if it began now: asked for once, and again when somebody wants it. */
export function planOf(path: string, repaired: Repaired) {
  return queryOptions({
    queryKey: [`${path}backfill/`, 'plan', repaired],
    queryFn: async ({ signal }): Promise<Backfill> => {
      const body = { ...repaired, dry_run: true };
      const outcome = await ask<{ backfill: Backfill }>('POST', `${path}backfill/`, {
        body,
        signal,
      });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body.backfill;
    },
    staleTime: 10_000,
  });
}

/** The latest backfills of an export. */
export function latestBackfills(path: string) {
  return reading<Listed<Backfill>>(`${path}backfills/?limit=100`, {
    is_busy: ({ results }) => results.some(({ finished_at }) => finished_at === null),
  });
}

/** A backfill and how far it is. */
export function oneBackfill(path: string, id: string) {
  return reading<Backfill>(`${path}backfills/${encodeURIComponent(id)}/`, {
    is_busy: ({ finished_at }) => finished_at === null,
  });
}

/**
 * Whether something that it was to deliver has failed and was not delivered since: its status stays
 * when runs of it are retried after its end.
 */
export function hasFailed({ status, progress }: Pick<Backfill, 'status' | 'progress'>): boolean {
  return status === 'Failed' && progress.completed_runs < progress.total_runs;
}
