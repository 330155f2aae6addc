import type {
  ExportOverview,
  HealthCode,
} from '../../../server/api/batch_exports/overview/schema.ts';
import { ask } from '../../http/ask.ts';
import type { Listed } from '../../http/list.ts';
import type { Problem } from '../../http/problem.ts';
import { reading } from '../../http/reading.ts';
import { pathTo } from '../../http/path.ts';
import type { Query } from '../../http/path.ts';

/** Names of the list's search parameters in the address. */
export const list_search = [
  'search',
  'health',
  'model',
  'destination_type',
  'tag',
  'ordering',
  'action',
] as const;
/** Filters and order of the list, and the shown bulk action. */
export type ListSearch = { [Name in (typeof list_search)[number]]?: string };
/** A page of the list, with the counts by state. */
export type OverviewPage = Listed<ExportOverview> & {
  counts: Record<HealthCode, number>;
  tags: { tag: string; count: number }[];
};

const overview = '/api/projects/:project_id/overview/';

/** Exports read at a time. */
export const page_size = 100;
/** Most exports that an action can list one by one. */
export const ids_max = 5_000;

/** One page of a project's matching exports; pages count from 0. */
export function overviewPage(project_id: string, search: ListSearch, page: number) {
  return reading(overviewPath(project_id, queryOf(search, page_size, page * page_size)), {
    is_busy: ({ results }) => results.some(({ open_runs }) => open_runs > 0),
  });
}

/** Reads the overview of one export; undefined after its deletion. */
export function overviewOf(project_id: string, export_id: string) {
  return reading(overviewPath(project_id, { batch_export: export_id, slots: 0 }), {
    is_busy: ({ results }) => results.some(({ open_runs }) => open_runs > 0),
  });
}

/** Returns the path of a project's overview. */
function overviewPath(project_id: string, query: Query<typeof overview>) {
  return pathTo(overview, { project_id }, query);
}

/** The API reports faults of a hand-written address. */
function queryOf({ action: _action, ...search }: ListSearch, limit: number, offset: number) {
  return { ordering: 'health', ...search, limit, offset } as Query<typeof overview>;
}

/** Returns the ids of all matching exports, up to the most of one action, or the reason why not. */
export async function matchingIds(
  project_id: string,
  search: ListSearch,
): Promise<string[] | Problem> {
  const ids: string[] = [];
  for (let offset = 0; offset < ids_max; offset += 1_000) {
    const query = { ...queryOf(search, 1_000, offset), slots: 0 };
    const outcome = await ask('GET', overviewPath(project_id, query));
    if (!outcome.ok) return outcome.problem;
    ids.push(...outcome.body.results.map(({ id }) => id));
    if (outcome.body.next === null) break;
  }
  return ids;
}
