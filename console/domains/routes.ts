import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';
import { root_route } from '../shell/root_route.ts';
import { loadedPage } from '../page/load_page.tsx';

/** Route `/organizations/<id>/domains?page=`: the domains of an organization. */
export const domains_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'domains',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./domains_page.tsx'), 'DomainsPage'),
});

/** Route `/organizations/<id>/domains/<id>`: the remaining steps for one domain. */
export const domain_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'domains/$domain_id',
  component: loadedPage(() => import('./domain_page.tsx'), 'DomainPage'),
});

/** Route `/setup#<token>`: the page of a setup link, also for people without an account. */
export const setup_route = createRoute({
  getParentRoute: () => root_route,
  path: 'setup',
  component: loadedPage(() => import('./setup_page.tsx'), 'SetupPage'),
});
