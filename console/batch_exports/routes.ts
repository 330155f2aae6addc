import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/exports?page=`: the batch exports of a project. */
export const exports_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports',
  validateSearch: ({ page }: { page?: string | number }): { page?: number } => {
    const wanted = Number(page);
    return Number.isInteger(wanted) && wanted > 1 ? { page: wanted } : {};
  },
  component: lazyRouteComponent(() => import('./list_page.tsx'), 'ListPage'),
});
