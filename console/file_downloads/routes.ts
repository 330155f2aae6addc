import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/downloads`: the files of ranges, and the way to ask for some. */
export const downloads_route = createRoute({
  getParentRoute: () => project_route,
  path: 'downloads',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./downloads_page.tsx'), 'DownloadsPage'),
});
