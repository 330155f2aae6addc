import type { Static } from 'typebox';
import type { Deps } from '../../../deps.ts';
import {
  agentResource,
  first_scopes,
  issuerOf,
} from '../../../platform/http/caller/agent_token.ts';
import { all_scopes } from '../../../platform/http/caller/scopes.ts';
import type { Scope } from '../../../platform/http/caller/scopes.ts';
import { invalid } from '../../../platform/http/errors.ts';
import type { AgentRequest } from '../schema.ts';
import { findClient } from './client.ts';
import type { Client } from './client.ts';
import { answerAt, isSameAddress } from './redirect_uris.ts';

/** An authorization request with a valid client and address. */
export type Authorization = {
  client: Client;
  redirect_uri: string;
  scopes: Scope[];
  code_challenge: string;
  /** Why it cannot be granted: OAuth's error code and a sentence. */
  fault: { code: string; detail: string } | null;
  /** Returns the client's address with an answer to the request. */
  answer(fields: Record<string, string>): string;
};

type Sent = Static<typeof AgentRequest>;

/**
 * Reads the request of a client. Throws 400 for an unknown client, or an address that it did not
 * register: no browser is sent there. Every other fault is reported to the client.
 */
export async function readAuthorization(
  deps: Pick<Deps, 'config' | 'secrets' | 'outbound'>,
  sent: Sent,
): Promise<Authorization> {
  const client = await findClient(deps, sent.client_id);
  const { redirect_uris } = client;
  const redirect_uri = sent.redirect_uri ?? redirect_uris[0]!;
  const is_known = redirect_uris.some((one) => isSameAddress(one, redirect_uri));
  if (!is_known || (sent.redirect_uri === undefined && redirect_uris.length > 1))
    throw invalid(
      'redirect_uri',
      'invalid_input',
      'The assistant named another address than it registered, so Sluice does not redirect there.',
    );
  const scopes = scopesOf(sent);
  const { code_challenge = '' } = sent;
  return {
    client,
    redirect_uri,
    scopes,
    code_challenge,
    fault: faultOf(deps, sent, scopes),
    answer: (fields) =>
      answerAt(redirect_uri, { ...fields, state: sent.state, iss: issuerOf(deps) }),
  };
}

/** Returns the existing scopes of the request; without a scope, the read scopes. */
function scopesOf({ scope = '' }: Sent): Scope[] {
  const named = scope.split(' ').filter((one) => one !== '');
  return named.length === 0 ? [...first_scopes] : all_scopes.filter((one) => named.includes(one));
}

function faultOf(
  deps: Pick<Deps, 'config'>,
  { response_type, code_challenge = '', code_challenge_method, resource }: Sent,
  scopes: Scope[],
): Authorization['fault'] {
  const found = (code: string, detail: string) => ({ code, detail });
  if (response_type !== 'code')
    return found('unsupported_response_type', 'The response_type must be code.');
  if (code_challenge_method !== 'S256' || !/^[\w-]{43}$/.test(code_challenge))
    return found(
      'invalid_request',
      'A code_challenge with the method S256 is required (RFC 7636).',
    );
  if (!isResource(deps, resource))
    return found('invalid_target', `The resource must be ${agentResource(deps)}.`);
  if (scopes.length === 0) return found('invalid_scope', 'None of the scopes exists.');
  return null;
}

/**
 * Returns true if the client names the resource of the tokens. Clients of an older protocol name
 * none.
 */
export function isResource(deps: Pick<Deps, 'config'>, resource: string | undefined): boolean {
  return resource === undefined || URL.parse(resource)?.href === agentResource(deps);
}
