import { createRoute } from '@tanstack/react-router';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';

/** `/organizations/<id>/security`: what the organization asks of those who sign in. */
export const security_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'security',
  component: loadedPage(() => import('./security_page.tsx'), 'SecurityPage'),
});
