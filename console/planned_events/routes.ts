import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/tracking_plan`: the events that a project expects. */
export const planned_events_route = createRoute({
  getParentRoute: () => project_route,
  path: 'tracking_plan',
  component: loadedPage(() => import('./plan_page.tsx'), 'PlanPage'),
});

/** Route `/projects/<id>/tracking_plan/<id>`: one planned event. */
export const planned_event_route = createRoute({
  getParentRoute: () => project_route,
  path: 'tracking_plan/$planned_event_id',
  component: loadedPage(() => import('./planned_event_page.tsx'), 'PlannedEventPage'),
});
