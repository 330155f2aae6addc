import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/notices`: the targets of notices. */
export const notice_targets_route = createRoute({
  getParentRoute: () => project_route,
  path: 'notices',
  component: loadedPage(() => import('./targets_page.tsx'), 'TargetsPage'),
});

/** Route `/projects/<id>/notices/<id>`: one target. */
export const notice_target_route = createRoute({
  getParentRoute: () => project_route,
  path: 'notices/$target_id',
  component: loadedPage(() => import('./target_page.tsx'), 'TargetPage'),
});
