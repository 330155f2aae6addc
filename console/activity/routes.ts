import { createRoute } from '@tanstack/react-router';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';
import type { Filter } from './activity.ts';
import type { EventFilter } from '../security_events/security_events.ts';

/** `tab` and `event` are those of the security events. */
type Search = Filter & { tab?: 'security' } & Pick<EventFilter, 'event'>;

const names = [
  'user',
  'scope',
  'activity',
  'item_id',
  'after',
  'before',
  'cursor',
  'event',
] as const;

/**
 * `/organizations/<id>/activity?tab=&scope=...`: what was changed, or refused, with the filters of
 * the API.
 */
export const activity_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'activity',
  validateSearch: (search: Search): Search => ({
    ...(search.tab === 'security' ? { tab: search.tab } : {}),
    ...Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ),
  }),
  component: loadedPage(() => import('./activity_page.tsx'), 'ActivityPage'),
});
