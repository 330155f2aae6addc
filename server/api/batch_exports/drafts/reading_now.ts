import { NonRetryableError } from '../../../engine/model/destination/errors.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { row_tables } from '../../../engine/model/removals/delete_rows.ts';
import { caughtUpForAnswer } from '../../../platform/clickhouse/topology/caught_up.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { inQueryTurn } from '../../../platform/http/limits/owner_turns.ts';
import { whileWaiting } from '../../../platform/http/while_waiting.ts';

/**
 * Time limit of a query while a request waits. It is shorter than the request's own limit, so that
 * the answer can say what to do.
 */
const seconds_max = 25;

/** The store, as a request may use it. */
export type StoreNow = Pick<Engine, 'clickhouse' | 'query_limits' | 'query_budget'>;

/**
 * Reads rows while a request waits, with less time than a run has. Of several replicas, it asks one
 * that has all acknowledged rows. A custom query waits for its organization's turn. Throws 400 for
 * `attr` if a query fails or takes too much. Throws 503 if its turn does not come, or the store
 * does not answer, in time.
 */
export function readingNow<Result>(
  engine: Engine,
  asked: { attr: string | null; custom_query: string | null; organization_id: string },
  work: (store: StoreNow, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { clickhouse, query_limits, query_budget } = engine;
  const store = {
    clickhouse,
    query_budget,
    query_limits: {
      ...query_limits,
      execution_seconds: Math.min(query_limits.execution_seconds, seconds_max),
    },
  };
  const { attr, custom_query, organization_id } = asked;
  return inQueryTurn(custom_query === null ? undefined : organization_id, () =>
    whileWaiting(async (signal) => {
      try {
        return await caughtUpForAnswer(clickhouse, row_tables, () => work(store, signal));
      } catch (error) {
        throw error instanceof NonRetryableError
          ? invalid(attr, 'invalid_input', error.message)
          : error;
      }
    }),
  );
}
