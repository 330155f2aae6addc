import { queryOptions } from '@tanstack/react-query';
import { ask } from '../http/ask.ts';
import { pathTo } from '../http/path.ts';

/**
 * Reads the page of a setup link. The token is in the body, so that no address and no log has it.
 * The page's own changes return the next state, so it is not read again while somebody types.
 */
export function setupOf(token: string) {
  return queryOptions({
    queryKey: ['setup link', token],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', pathTo('/api/setup_links/open/'), {
        body: { token },
        signal,
      });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
    staleTime: Infinity,
  });
}
