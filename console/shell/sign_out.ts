import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { forgetAllKept } from '../form/kept.ts';
import { ask } from '../http/ask.ts';

/** Leads to the sign-in, where the session has ended; nothing that was read or typed is kept. */
export function useSignedOut(): () => Promise<void> {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async () => {
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
      const outcome = await ask('DELETE', '/api/sessions/@current/');
      if (!outcome.ok && outcome.problem.status !== 401) throw outcome.problem;
    },
    onSuccess: signedOut,
  });
  return mutate;
}
