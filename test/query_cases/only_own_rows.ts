import assert from 'node:assert/strict';
import { isEngineError } from '../../server/engine/query/gate/engine_error.ts';
import { QueryError } from '../../server/engine/query/query_error.ts';
import { printQuery, readRows, readSql } from './run_query.ts';
import type { CheckedQuery, checkQuery } from './run_query.ts';
import { foreign_mark, january } from './two_projects.ts';
import type { TwoProjects } from './two_projects.ts';

/** Returns the rows of a query over one store, or the name of the limit or value that ended it. */
async function outcomeOf(
  store: TwoProjects['both'],
  text: string,
  prepare: () => Promise<CheckedQuery>,
): Promise<string> {
  try {
    const rows = await readRows(store, await prepare());
    return rows.map((row) => JSON.stringify(row)).join('\n');
  } catch (error) {
    if (error instanceof QueryError) return `refused: ${error.message}`;
    assert.ok(isEngineError(error), `${text.slice(0, 200)} gave ${String(error)}`);
    return `ended: ${error.type}`;
  }
}

/**
 * Fails if the query returns anything that depends on the other project's rows (a row, count, order
 * or error).
 */
export async function assertOnlyOwnRows(
  { both, alone }: TwoProjects,
  text: string,
  check: typeof checkQuery,
): Promise<void> {
  const outcome = await outcomeOf(both, text, () => check(both, text, 'events', january));
  assert.doesNotMatch(outcome, foreign_mark, text.slice(0, 200));
  if (!outcome.startsWith('refused: '))
    assert.equal(
      outcome,
      await outcomeOf(alone, text, async () => printQuery(text, 'events', january)),
      text.slice(0, 200),
    );
}

/** Fails if the store does not answer. */
export async function assertAnswers({ both }: TwoProjects): Promise<void> {
  assert.deepEqual(await readSql(both, 'SELECT 1'), [[1]]);
}
