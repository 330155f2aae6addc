import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../../../test/depth.ts';
import { openAroundTests, projects } from '../../../test/factories/batch_exports/query_projects.ts';
import {
  checkInTurn,
  forEachOf,
  inTurn,
  printQuery,
  readRows,
  readSql,
} from '../../../test/query_cases/run_query.ts';
import { addCalls, january } from '../../../test/query_cases/two_projects.ts';
import { working_conversions } from '../../../test/query_cases/works_conversions.ts';
import { working_functions } from '../../../test/query_cases/works_functions.ts';
import { working_rows } from '../../../test/query_cases/works_rows.ts';
import {
  working_person_distinct_ids,
  working_persons,
  working_tables,
} from '../../../test/query_cases/works_tables.ts';
import { working_groups } from '../../../test/query_cases/works_groups.ts';
import { working_sessions } from '../../../test/query_cases/works_sessions.ts';
import { working_values } from '../../../test/query_cases/works_values.ts';
import type { WorkingQuery } from '../../../test/query_cases/works_values.ts';
import type { ModelName } from '../model/models/model.ts';

/** A third of the queries run; all are read and printed. */
const isRun = inTurn(inDepth(3, 1));
/** The check of each query before it runs: whole for a quarter of them, else only printed. */
const check = checkInTurn(inDepth(4, 1));
openAroundTests();

/** Rows in one order, unless the query gives them one of its own. */
function inOrder(rows: unknown[][], isOrdered: boolean): string[] {
  const lines = rows.map((row) => JSON.stringify(row));
  return isOrdered ? lines : lines.sort();
}

const tables: [string, ModelName, WorkingQuery[]][] = [
  ['columns, properties, operators and instants', 'events', working_values],
  ['conditional functions and conversions', 'events', working_conversions],
  ['functions', 'events', working_functions],
  ['aggregates, windows, order and limits', 'events', working_rows],
  ['subqueries, WITH, joins and unions', 'events', working_tables],
  ['an export of persons', 'persons', working_persons],
  ['an export of distinct ids', 'person_distinct_ids', working_person_distinct_ids],
  ['an export of sessions', 'sessions', working_sessions],
  ['an export of groups', 'groups', working_groups],
];

test('at least 150 queries are tried', () => {
  assert.ok(tables.flatMap(([, , cases]) => cases).length >= 150);
});

for (const [title, model, cases] of tables) {
  test(`${title}: each query gives what SQL by hand gives over the project's rows`, async () => {
    if (model === 'groups') await addCalls(projects);
    for (const [text] of cases) printQuery(text, model, january);
    await forEachOf(cases.filter(isRun), async ([text, sql]) => {
      const checked = await check(projects.both, text, model, january);
      const { tree } = checked.query;
      const isOrdered = tree.kind === 'core' && tree.order_by.length > 0;
      assert.deepEqual(
        inOrder(await readRows(projects.both, checked), isOrdered),
        inOrder(await readSql(projects.alone, sql), isOrdered),
        text,
      );
    });
  });
}
