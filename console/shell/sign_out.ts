import { useMantineColorScheme } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { forgetAllKept } from '../form/kept.ts';
import { ask } from '../http/ask.ts';
import { pathTo } from '../http/path.ts';

/** Stores the theme again, because signing out clears the browser's storage. */
export function useKeptTheme(): () => void {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return () => setColorScheme(colorScheme);
}

/**
 * Leads to the sign-in after the session has ended, and deletes everything that was read or typed.
 */
export function useSignedOut(): () => Promise<void> {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const keepTheme = useKeptTheme();
  return async () => {
    keepTheme();
    forgetAllKept();
    queries.clear();
    await navigate({ to: '/login' });
  };
}

/** Ends the session of this browser and leads to the sign-in. */
export function useSignOut(): () => void {
  const signedOut = useSignedOut();
  const { mutate } = useMutation({
    mutationFn: async () => {
      const outcome = await ask('DELETE', pathTo('/api/sessions/:id/', { id: '@current' }));
      if (!outcome.ok && outcome.problem.status !== 401) throw outcome.problem;
    },
    onSuccess: signedOut,
  });
  return mutate;
}
