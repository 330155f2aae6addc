import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { hostile_loads } from './cases/hostile_harmless.ts';
import { assertOnlyOwnRows } from './cases/only_own_rows.ts';
import { openTwoProjects } from './cases/two_projects.ts';
import type { TwoProjects } from './cases/two_projects.ts';

/**
 * How long one query may take with its checks, over both stores, whatever it is. Its own limit is
 * three seconds.
 */
const longest_ms = 15_000;

let stores: TestStores;
let projects: TwoProjects;
before(async () => {
  stores = await openTestStores({ clickhouse: 'own' });
  projects = await openTwoProjects(
    stores.clickhouse_url,
    join(import.meta.dirname, '../../../migrations/clickhouse'),
  );
});
after(async () => {
  await projects?.close();
  await stores?.close();
});

test(
  'what asks for too much ends in time, sees no row of another project, and the store answers ' +
    'after each',
  async () => {
    for (const text of hostile_loads) {
      const began = performance.now();
      await assertOnlyOwnRows(projects, text);
      assert.ok(
        performance.now() - began < longest_ms,
        `${performance.now() - began} ms: ${text.slice(0, 200)}`,
      );
    }
  },
);
