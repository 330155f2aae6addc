import { queryOptions } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { AgentRequest } from '../../server/api/api_keys/schema.ts';
import { ask } from '../http/ask.ts';
import { pathTo } from '../http/path.ts';

/** The parameters with which an assistant opened the page. */
export type AgentAsked = Static<typeof AgentRequest>;

const names = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;

/** Returns the relevant parameters of an address. */
export function agentAsked(search: Partial<AgentAsked>): AgentAsked {
  const given = names.flatMap((name) =>
    search[name] === undefined ? [] : [[name, search[name]] as const],
  );
  return { client_id: '', ...Object.fromEntries(given) };
}

/** Reads the request of an assistant; it changes nothing. */
export function agentPreview(asked: AgentAsked) {
  const path = pathTo('/api/personal_api_keys/agents/preview/');
  return queryOptions({
    queryKey: [path, asked],
    queryFn: async ({ signal }) => {
      const outcome = await ask('POST', path, { body: asked, signal });
      if (!outcome.ok) throw outcome.problem;
      return outcome.body;
    },
    retry: false,
    staleTime: Infinity,
  });
}
