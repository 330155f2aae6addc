import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';
import { list_search, overviewPage } from './list/overview.ts';
import type { ListSearch } from './list/overview.ts';
import { textsOf } from './search.ts';

/** Route `/projects/<id>/exports`: the batch exports of a project, with the filters of the list. */
export const exports_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports',
  validateSearch: (given: Record<string, unknown>): ListSearch => textsOf(list_search)(given),
  loaderDeps: ({ search }) => search,
  // The list is requested while its page's code is loading.
  loader: ({ context: { queries }, params: { project_id }, deps }) =>
    void queries.prefetchQuery(overviewPage(project_id, deps, 0)),
  component: loadedPage(() => import('./list/list_page.tsx'), 'ListPage'),
});

/**
 * Route `/projects/<id>/exports/new?copy_of=&destination=`: creates an export, as a copy of another
 * one or for a destination.
 */
export const new_export_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports/new',
  validateSearch: textsOf(['copy_of', 'destination']),
  component: loadedPage(() => import('./form/new_page.tsx'), 'NewPage'),
});
