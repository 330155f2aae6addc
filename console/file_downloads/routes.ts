import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/downloads`: the downloads of a project, and the form for a new one. */
export const downloads_route = createRoute({
  getParentRoute: () => project_route,
  path: 'downloads',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./downloads_page.tsx'), 'DownloadsPage'),
});
