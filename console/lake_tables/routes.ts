import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

const paged = ({ page }: { page?: string | number }) => pageNumber(page);

/** Route `/projects/<id>/lake`: the tables of the Iceberg catalog. */
export const lake_route = createRoute({
  getParentRoute: () => project_route,
  path: 'lake',
  validateSearch: paged,
  component: loadedPage(() => import('./lake_page.tsx'), 'LakePage'),
});

/** Route `/projects/<id>/lake/<id>`: one table, and how to read it. */
export const lake_table_route = createRoute({
  getParentRoute: () => project_route,
  path: 'lake/$table_id',
  validateSearch: paged,
  component: loadedPage(() => import('./table_page.tsx'), 'TablePage'),
});
