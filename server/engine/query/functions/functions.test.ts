import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  openAroundTests,
  projects,
} from '../../../../test/factories/batch_exports/query_projects.ts';
import { checkQuery, readRows } from '../../../../test/query_cases/run_query.ts';
import { january } from '../../../../test/query_cases/two_projects.ts';
import { functionTopics } from './index.ts';

openAroundTests();

for (const { title, functions } of functionTopics) {
  test(`${title}: every example runs, and gives the type that its signature names`, async () => {
    for (const { name, example } of functions)
      assert.ok(example.includes(`${name}(`), `The example of ${name} does not call it.`);
    const all = `SELECT
      ${functions.map(({ example }, index) => `${example} AS x${index}`).join(', ')} FROM events`;
    const rows = await readRows(
      projects.both,
      await checkQuery(projects.both, all, 'events', january),
    );
    assert.ok(rows.length > 0);
    assert.equal(rows[0]?.length, functions.length);
  });
}

test('an instant of a text that is NULL in some rows is NULL there', async () => {
  const day = `if(event = 'no such event', '2024-01-02', nullIf('', ''))`;
  const ways = [`toDateTime(${day})`, `toDate(${day})`, `parseDateTimeBestEffort(${day}, 'UTC')`];
  for (const way of ways) {
    const checked = await checkQuery(
      projects.both,
      `SELECT ${way} AS a FROM events`,
      'events',
      january,
    );
    const rows = await readRows(projects.both, checked);
    assert.ok(rows.length > 0, way);
    assert.deepEqual(new Set(rows.flat()), new Set([null]), way);
  }
});
