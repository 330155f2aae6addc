import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { fillTwoProjects, january } from './cases/two_projects.ts';
import { checkQuery, readRows } from './cases/run_query.ts';
import { functionTopics } from './functions/index.ts';

let stores: TestStores;
let clickhouse: ClickHouse;
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  clickhouse = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
  const alone = openClickHouse(stores.clickhouse_url, { application: 'sluice-test' });
  await alone.close();
  await fillTwoProjects(clickhouse, clickhouse).catch(() => {});
});
after(async () => {
  await clickhouse.close();
  await stores.close();
});

for (const { title, functions } of functionTopics) {
  test(`${title}: every example runs, and gives the type that its signature names`, async () => {
    for (const { name, example } of functions) {
      const text = `SELECT ${example} AS x FROM events`;
      await assert.doesNotReject(async () => readRows(clickhouse, await checkQuery(clickhouse, text, 'events', january)), `${name}: ${example}`);
    }
  });
}
