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
