import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { project_route } from '../projects/routes.ts';

/** `/projects/<id>/events`: how events get into a project, and which came last. */
export const events_route = createRoute({
  getParentRoute: () => project_route,
  path: 'events',
  component: lazyRouteComponent(() => import('./events_page.tsx'), 'EventsPage'),
});
