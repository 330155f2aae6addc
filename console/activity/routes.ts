import { createRoute } from '@tanstack/react-router';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';
import type { Filter } from './activity.ts';

const names = ['user', 'scope', 'activity', 'item_id', 'after', 'before', 'cursor'] as const;

/** `/organizations/<id>/activity?scope=...`: what was changed, with the filters of the API. */
export const activity_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'activity',
  validateSearch: (search: Filter): Filter =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ),
  component: loadedPage(() => import('./activity_page.tsx'), 'ActivityPage'),
});
