import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { project_route } from '../projects/routes.ts';
import { run_filters } from './runs/run_filters.ts';
import type { RunSearch } from './runs/run_filters.ts';
import { textsOf } from './search.ts';

/** `/projects/<id>/exports/<id>`: one export; its tabs stand under it. */
const frame = createRoute({
  getParentRoute: () => project_route,
  path: 'exports/$export_id',
  component: lazyRouteComponent(() => import('./export_frame.tsx'), 'ExportFrame'),
});

/** The map: the view, what is selected in it, and the repair that goes on. */
const map = createRoute({
  getParentRoute: () => frame,
  path: '/',
  validateSearch: textsOf(['from', 'to', 'selected_from', 'selected_to', 'backfill', 'show']),
  component: lazyRouteComponent(() => import('./slots/map_page.tsx'), 'MapPage'),
});

const runs = createRoute({
  getParentRoute: () => frame,
  path: 'runs',
  validateSearch: (given: Record<string, unknown>): RunSearch => textsOf(run_filters)(given),
  component: lazyRouteComponent(() => import('./runs/runs_page.tsx'), 'RunsPage'),
});

const run = createRoute({
  getParentRoute: () => frame,
  path: 'runs/$run_id',
  validateSearch: textsOf(['level', 'text']),
  component: lazyRouteComponent(() => import('./runs/run_page.tsx'), 'RunPage'),
});

/** The pages of one export. */
export const one_export_route = frame.addChildren([map, runs, run]);

/** Where an event or a person was delivered, or why not. */
export const find_route = createRoute({
  getParentRoute: () => project_route,
  path: 'find',
  validateSearch: textsOf(['uuid', 'distinct_id', 'day']),
  component: lazyRouteComponent(() => import('./find/find_page.tsx'), 'FindPage'),
});
