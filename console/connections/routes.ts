import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';

/** Route `/organizations/<id>/connections?page=`: the connections of an organization. */
export const connections_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'connections',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./connections_page.tsx'), 'ConnectionsPage'),
});

/** Route `/organizations/<id>/connections/<id>`: one connection. */
export const connection_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'connections/$connection_id',
  component: loadedPage(() => import('./connection_page.tsx'), 'ConnectionPage'),
});
