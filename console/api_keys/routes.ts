import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';
import { root_route } from '../shell/root_route.ts';
import { requireSignIn } from '../shell/signed_in_route.ts';
import { agentAsked } from './agents.ts';

/**
 * Route `/organizations/<id>/keys?page=`: service keys, and the keys of members with access to it.
 */
export const organization_keys_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'keys',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./organization_keys_page.tsx'), 'OrganizationKeysPage'),
});

/** Route `/authorize`: the page that an assistant opens in a person's browser to ask for access. */
export const assistant_route = createRoute({
  getParentRoute: () => root_route,
  path: 'authorize',
  validateSearch: agentAsked,
  beforeLoad: requireSignIn,
  component: loadedPage(() => import('./assistant_page.tsx'), 'AssistantPage'),
});
