import { createRoute, redirect } from '@tanstack/react-router';
import { batchExports } from '../batch_exports/batch_exports.ts';
import { organizations } from '../organizations/organizations.ts';
import { loadedPage } from '../page/load_page.tsx';
import { signed_in_route } from '../shell/signed_in_route.ts';
import { rememberedProject } from './remembered.ts';
import { ProjectOutlet } from './project_outlet.tsx';

/**
 * `/`: the project that was looked at last, else the first, at its exports, or where there are none
 * yet at its events; without a project, the account.
 */
export const start_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: '/',
  beforeLoad: async ({ context }) => {
    const { results } = await context.queries.ensureQueryData(organizations);
    const projects = results.flatMap(({ teams }) => teams);
    const project = projects.find(({ id }) => id === rememberedProject()) ?? projects[0];
    if (project === undefined) return redirect({ to: '/account', replace: true, throw: true });
    const project_id = String(project.id);
    const { count } = await context.queries.ensureQueryData(batchExports(project_id, 1));
    return redirect({
      to: count === 0 ? '/projects/$project_id/events' : '/projects/$project_id/exports',
      params: { project_id },
      replace: true,
      throw: true,
    });
  },
});

/** What belongs to a project; its pages stand under it. */
export const project_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'projects/$project_id',
  component: ProjectOutlet,
});

/** `/projects/<id>`, an address that was cut off there: the exports. */
export const project_index_route = createRoute({
  getParentRoute: () => project_route,
  path: '/',
  beforeLoad: ({ params }) =>
    redirect({ to: '/projects/$project_id/exports', params, replace: true, throw: true }),
});

/** `/projects/<id>/settings`: name, time zone, deletion. */
export const project_settings_route = createRoute({
  getParentRoute: () => project_route,
  path: 'settings',
  component: loadedPage(() => import('./settings_page.tsx'), 'SettingsPage'),
});
