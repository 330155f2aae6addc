import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/erasures`: the erasures of a project, and the form for a new one. */
export const erasures_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./erasures_page.tsx'), 'ErasuresPage'),
});

/** Route `/projects/<id>/erasures/<id>`: one erasure: its progress, its copies, its certificate. */
export const erasure_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures/$erasure_id',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./erasure_page.tsx'), 'ErasurePage'),
});
