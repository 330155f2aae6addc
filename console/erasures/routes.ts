import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/erasures`: what was erased, and the way to ask for it. */
export const erasures_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: lazyRouteComponent(() => import('./erasures_page.tsx'), 'ErasuresPage'),
});

/** `/projects/<id>/erasures/<id>`: how far one is, the copies of what it is about, the proof. */
export const erasure_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures/$erasure_id',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: lazyRouteComponent(() => import('./erasure_page.tsx'), 'ErasurePage'),
});
