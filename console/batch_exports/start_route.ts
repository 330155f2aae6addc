import { createRoute, redirect } from '@tanstack/react-router';
import { signed_in_route } from '../shell/signed_in_route.ts';
import { organizations } from '../signed_in/organizations.ts';
import { rememberedProject } from '../signed_in/remembered_project.ts';
import { batchExports } from './batch_exports.ts';

/**
 * Route `/`: opens the latest project, or the first, at its exports, or at its events if it has no
 * exports; without a project, the account.
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
