import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';

/** `/organizations/<id>/keys?page=`: service keys, and the keys of members that open it. */
export const organization_keys_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'keys',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./organization_keys_page.tsx'), 'OrganizationKeysPage'),
});
