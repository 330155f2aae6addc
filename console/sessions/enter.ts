import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';
import { localPath } from './local_path.ts';

/**
 * Leads a person who has just signed in to the next page, and clears the data of the previous
 * person.
 */
export function useEnter(): (next?: string) => Promise<void> {
  const queries = useQueryClient();
  const router = useRouter();
  return useCallback(
    async (next) => {
      queries.clear();
      await router.navigate({ href: localPath(next), replace: true });
    },
    [queries, router],
  );
}
