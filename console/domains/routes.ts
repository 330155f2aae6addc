import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';

/** `/organizations/<id>/domains?page=`: the domains of an organization. */
export const domains_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'domains',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: lazyRouteComponent(() => import('./domains_page.tsx'), 'DomainsPage'),
});

/** `/organizations/<id>/domains/<id>`: what is left to do for one domain. */
export const domain_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'domains/$domain_id',
  component: lazyRouteComponent(() => import('./domain_page.tsx'), 'DomainPage'),
});
