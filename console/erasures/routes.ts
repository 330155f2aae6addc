import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/erasures`: what was erased, and the way to ask for it. */
export const erasures_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./erasures_page.tsx'), 'ErasuresPage'),
});

/** `/projects/<id>/erasures/<id>`: how far one is, the copies of what it is about, the proof. */
export const erasure_route = createRoute({
  getParentRoute: () => project_route,
  path: 'erasures/$erasure_id',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./erasure_page.tsx'), 'ErasurePage'),
});
