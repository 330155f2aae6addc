import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { organizations } from '../signed_in/organizations.ts';
import { rememberProject } from '../signed_in/remembered_project.ts';
import { useEnter } from '../sessions/enter.ts';
import type { Accepted } from './invite.ts';

/**
 * Leads whoever has just joined an organization to its first project, whatever they looked at
 * before; to its members where it has none, and to their account where they may not see it yet,
 * as without the second factor that it asks for.
 */
export function useEnterJoined(): (accepted: Accepted) => Promise<void> {
  const queries = useQueryClient();
  const enter = useEnter();
  return useCallback(
    async ({ organization }) => {
      // Nothing stays of whoever was signed in before.
      queries.clear();
      const read = await queries.fetchQuery(organizations).catch(() => undefined);
      const joined = read?.results.find(({ id }) => id === organization.id);
      if (joined === undefined) return enter('/account');
      const [project] = joined.teams;
      if (project === undefined) return enter(`/organizations/${joined.id}/members`);
      rememberProject(project.id);
      await enter('/');
    },
    [queries, enter],
  );
}
