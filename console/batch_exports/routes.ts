import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';
import { list_search, overviewPage } from './list/overview.ts';
import type { ListSearch } from './list/overview.ts';
import { textsOf } from './search.ts';

/** `/projects/<id>/exports`: the batch exports of a project, with what narrows the list. */
export const exports_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports',
  validateSearch: (given: Record<string, unknown>): ListSearch => textsOf(list_search)(given),
  loaderDeps: ({ search }) => search,
  // The list is asked for while the code of its page is on its way.
  loader: ({ context: { queries }, params: { project_id }, deps }) =>
    void queries.prefetchQuery(overviewPage(project_id, deps, 0)),
  component: loadedPage(() => import('./list/list_page.tsx'), 'ListPage'),
});

/**
 * `/projects/<id>/exports/new?copy_of=&destination=`: creates an export, as a copy of another one
 * or to a destination.
 */
export const new_export_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports/new',
  validateSearch: textsOf(['copy_of', 'destination']),
  component: loadedPage(() => import('./form/new_page.tsx'), 'NewPage'),
});
