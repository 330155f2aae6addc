import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openTestStores } from '../../../../test/harness_stores.ts';
import type { TestStores } from '../../../../test/harness_stores.ts';
import { checkQuery, readRows } from '../cases/run_query.ts';
import { january, openTwoProjects } from '../cases/two_projects.ts';
import type { TwoProjects } from '../cases/two_projects.ts';
import { functionTopics } from './index.ts';

let stores: TestStores;
let projects: TwoProjects;
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  projects = await openTwoProjects(
    stores.clickhouse_url,
    join(import.meta.dirname, '../../../../migrations/clickhouse'),
  );
});
after(async () => {
  await projects?.close();
  await stores?.close();
});

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
