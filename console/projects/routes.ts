import { createRoute, redirect } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { signed_in_route } from '../shell/signed_in_route.ts';
import { projectOf } from './project.ts';
import { ProjectOutlet } from './project_outlet.tsx';

/** Parent of a project's pages. */
export const project_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'projects/$project_id',
  // Pages wait for the project, which is read while their code is loading.
  loader: ({ context: { queries }, params: { project_id } }) =>
    void queries.prefetchQuery(projectOf(project_id)),
  component: ProjectOutlet,
});

/** Route `/projects/<id>`, a shortened address: opens the exports. */
export const project_index_route = createRoute({
  getParentRoute: () => project_route,
  path: '/',
  beforeLoad: ({ params }) =>
    redirect({ to: '/projects/$project_id/exports', params, replace: true, throw: true }),
});

/** Route `/projects/<id>/settings`: name, time zone, deletion. */
export const project_settings_route = createRoute({
  getParentRoute: () => project_route,
  path: 'settings',
  component: loadedPage(() => import('./settings_page.tsx'), 'SettingsPage'),
});
