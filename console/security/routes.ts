import { createRoute } from '@tanstack/react-router';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';

/** Route `/organizations/<id>/security`: the organization's requirements for signing in. */
export const security_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'security',
  component: loadedPage(() => import('./security_page.tsx'), 'SecurityPage'),
});
