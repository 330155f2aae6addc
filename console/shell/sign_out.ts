import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { forgetAllKept } from '../form/kept.ts';
import { ask } from '../http/ask.ts';

/** Ends the session of this browser and leads to the sign-in; nothing that was typed is kept. */
export function useSignOut(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { mutate } = useMutation({
    mutationFn: async () => {
      const outcome = await ask('DELETE', '/api/sessions/@current/');
      if (!outcome.ok && outcome.problem.status !== 401) throw outcome.problem;
    },
    onSuccess: async () => {
      forgetAllKept();
      queries.clear();
      await navigate({ to: '/login' });
    },
  });
  return mutate;
}
