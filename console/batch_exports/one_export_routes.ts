import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';
import { giveKnownLanguage } from './metrics/known_language.ts';
import { run_filters } from './runs/run_filters.ts';
import { textsOf } from './search.ts';

/** Route `/projects/<id>/exports/<id>`: one export, with its tabs. */
export const export_frame_route = createRoute({
  getParentRoute: () => project_route,
  path: 'exports/$export_id',
  component: loadedPage(() => import('./export_frame.tsx'), 'ExportFrame'),
});

/** The map: the view, its selection, and the repair in progress. */
export const export_map_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: '/',
  validateSearch: textsOf([
    'from',
    'to',
    'selected_from',
    'selected_to',
    'selected_by',
    'backfill',
    'show',
  ]),
  component: loadedPage(() => import('./slots/map_page.tsx'), 'MapPage'),
});

/** Its runs, filtered by status and time, and a bulk action on them. */
export const export_runs_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'runs',
  validateSearch: textsOf(run_filters),
  component: loadedPage(() => import('./runs/runs_page.tsx'), 'RunsPage'),
});

/** The incidents: present failures, and the proof of deliveries after them. */
export const export_incident_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'incident',
  component: loadedPage(() => import('./incident/incident_page.tsx'), 'IncidentPage'),
});

/** One run, with the filters of its log. */
export const export_run_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'runs/$run_id',
  validateSearch: textsOf(['level', 'text', 'attempt']),
  component: loadedPage(() => import('./runs/run_page.tsx'), 'RunPage'),
});

/** The events of one kind or of all. */
export const export_timeline_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'timeline',
  validateSearch: textsOf(['type']),
  component: loadedPage(() => import('./timeline/timeline_page.tsx'), 'TimelinePage'),
});

/** Rows stored against rows delivered, over a range, and the verifications. */
export const export_proof_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'proof',
  validateSearch: textsOf(['from', 'to', 'by']),
  component: loadedPage(() => import('./proof/proof_page.tsx'), 'ProofPage'),
});

/** Its charts, over a range. */
export const export_metrics_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'metrics',
  validateSearch: textsOf(['from', 'to']),
  component: loadedPage(() => {
    giveKnownLanguage();
    return import('./metrics/metrics_page.tsx');
  }, 'MetricsPage'),
});

/** The notices and their receivers. */
export const export_notices_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'notices',
  validateSearch: textsOf(['page']),
  component: loadedPage(() => import('./notices/notices_page.tsx'), 'NoticesPage'),
});

/** The settings, the pause and the deletion. */
export const export_settings_route = createRoute({
  getParentRoute: () => export_frame_route,
  path: 'settings',
  component: loadedPage(() => import('./settings/settings_page.tsx'), 'SettingsPage'),
});

/** The search for an event, a person, a session or a group. */
export const find_route = createRoute({
  getParentRoute: () => project_route,
  path: 'find',
  validateSearch: textsOf(['uuid', 'session_id', 'group_id', 'distinct_id', 'day']),
  component: loadedPage(() => import('./find/find_page.tsx'), 'FindPage'),
});
