import { createRoute } from '@tanstack/react-router';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';
import type { Filter } from './activity.ts';
import { signed_in_route } from '../shell/signed_in_route.ts';
import type { EventFilter } from '../security_events/security_events.ts';

/** `tab` and `event` belong to the security events. */
type Search = Filter & { tab?: 'security' } & Pick<EventFilter, 'event'>;

const names = [
  'user',
  'key',
  'scope',
  'activity',
  'item_id',
  'after',
  'before',
  'cursor',
  'event',
] as const;

/**
 * Route `/organizations/<id>/activity?tab=&scope=...`: changes and refusals, with the API's
 * filters.
 */
export const activity_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'activity',
  validateSearch: (search: Search): Search => ({
    ...(search.tab === 'security' ? { tab: search.tab } : {}),
    ...textsOf(search),
  }),
  component: loadedPage(() => import('./activity_page.tsx'), 'ActivityPage'),
});

/** Route `/account/activity?scope=...`: changes of a person's own account. */
export const own_activity_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'account/activity',
  validateSearch: (search: Filter): Filter => textsOf(search),
  component: loadedPage(() => import('./own_activity_page.tsx'), 'OwnActivityPage'),
});

/** Returns the filters of an address that are texts. */
function textsOf(search: Search): Filter {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = search[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );
}
