import { betweenFiles } from '../../between_files.ts';
import { openTestStores } from '../../harness_stores.ts';
import type { TestStores } from '../../harness_stores.ts';
import { openTwoProjects } from '../../query_cases/two_projects.ts';
import type { TwoProjects } from '../../query_cases/two_projects.ts';

let stores: TestStores;

/** Two projects in one store. */
export let projects: TwoProjects;

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    stores = await openTestStores({ clickhouse: true });
    projects = await openTwoProjects(stores.clickhouse_url);
  },
  async () => {
    await projects?.close();
    await stores?.close();
  },
);
