import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/notices`: who is told when an export's state changes. */
export const notice_targets_route = createRoute({
  getParentRoute: () => project_route,
  path: 'notices',
  component: lazyRouteComponent(() => import('./targets_page.tsx'), 'TargetsPage'),
});

/** `/projects/<id>/notices/<id>`: one of them. */
export const notice_target_route = createRoute({
  getParentRoute: () => project_route,
  path: 'notices/$target_id',
  component: lazyRouteComponent(() => import('./target_page.tsx'), 'TargetPage'),
});
