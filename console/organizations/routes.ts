import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { signed_in_route } from '../shell/signed_in_route.ts';
import { OrganizationOutlet } from './organization_outlet.tsx';

/** What belongs to an organization; its pages stand under it. */
export const organization_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'organizations/$organization_id',
  component: OrganizationOutlet,
});

/** `/organizations/<id>/settings`: name, second factor, projects, deletion. */
export const organization_settings_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'settings',
  component: loadedPage(() => import('./settings_page.tsx'), 'SettingsPage'),
});
