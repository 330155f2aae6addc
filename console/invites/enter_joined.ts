import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { organizations } from '../signed_in/organizations.ts';
import { rememberProject } from '../signed_in/remembered_project.ts';
import { useEnter } from '../sessions/enter.ts';
import type { Accepted } from './invite.ts';

/**
 * Opens the first project of an organization that the person has just joined. Without a project it
 * opens the members, and while the organization is closed, such as without a required second
 * factor, the account.
 */
export function useEnterJoined(): (accepted: Accepted) => Promise<void> {
  const queries = useQueryClient();
  const enter = useEnter();
  return useCallback(
    async ({ organization }) => {
      // Clears the data of the previously signed-in person.
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
