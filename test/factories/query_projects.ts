import { join } from 'node:path';
import { after, before } from 'node:test';
import { openTestStores } from '../harness_stores.ts';
import type { TestStores } from '../harness_stores.ts';
import { openTwoProjects } from '../../server/engine/query/cases/two_projects.ts';
import type { TwoProjects } from '../../server/engine/query/cases/two_projects.ts';

let stores: TestStores;

/** Two projects in one store. */
export let projects: TwoProjects;

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    stores = await openTestStores({ clickhouse: true });
    projects = await openTwoProjects(
      stores.clickhouse_url,
      join(import.meta.dirname, '../../migrations/clickhouse'),
    );
  });
  after(async () => {
    await projects?.close();
    await stores?.close();
  });
}
