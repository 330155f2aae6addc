import { createRoute, redirect } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { signed_in_route } from '../shell/signed_in_route.ts';
import { OrganizationOutlet } from './organization_outlet.tsx';

/** Parent of an organization's pages. */
export const organization_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'organizations/$organization_id',
  component: OrganizationOutlet,
});

/** Route `/organizations/<id>`, a shortened address: opens the members. */
export const organization_index_route = createRoute({
  getParentRoute: () => organization_route,
  path: '/',
  beforeLoad: ({ params }) =>
    redirect({ to: '/organizations/$organization_id/members', params, replace: true, throw: true }),
});

/** Route `/organizations/<id>/settings`: name, second factor, projects, deletion. */
export const organization_settings_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'settings',
  component: loadedPage(() => import('./settings_page.tsx'), 'SettingsPage'),
});

/** Route `/organizations/<id>/configuration`: the managed objects, and changes since. */
export const configuration_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'configuration',
  component: loadedPage(() => import('./configuration_page.tsx'), 'ConfigurationPage'),
});
