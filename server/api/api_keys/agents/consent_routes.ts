import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { agentResource } from '../../../platform/http/caller/agent_token.ts';
import { createApiKey, randomBase62 } from '../../../platform/http/caller/api_key.ts';
import { personOf } from '../../../platform/http/caller/access.ts';
import type { Person } from '../../../platform/http/caller/access.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { confirmCaller } from '../../../platform/http/confirm_access.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { write } from '../../../platform/http/write.ts';
import { addRoute } from '../../../platform/http/records.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { entryOf } from '../entry.ts';
import { keptToReach, keyBody, refuseTooMany } from '../rules.ts';
import { AgentGrant, AgentGranted, AgentPreview, AgentRequest } from '../schema.ts';
import { countLiveApiKeys, findApiKey, insertApiKey, lockOwner } from '../store.ts';
import { readAuthorization } from './authorization.ts';
import type { Authorization } from './authorization.ts';
import { isOfThisComputer, placeOf } from './redirect_uris.ts';
import { deleteGrantsOf, insertGrant, listOrganizationIds } from './store.ts';

const list = '/api/personal_api_keys/agents/';
const lives_ms_max = 366 * 86_400_000;

/** Routes of the page on which a person lets an assistant in. */
export function consentRoutes(app: FastifyInstance, deps: Deps): void {
  previewRoute(app, deps);
  grantRoute(app, deps);
}

function previewRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: `${list}preview/`,
    config: { scope: 'user:read', session: true },
    summary: 'Read the request of an assistant that wants to sign in',
    description: 'Takes the parameters with which the assistant opened `/authorize`.',
    body: AgentRequest,
    response: { 200: AgentPreview },
    handler: async (request, reply) => {
      const asked = await readAuthorization(deps, body(request, AgentRequest));
      const { client, redirect_uri, scopes, fault } = asked;
      void reply.code(200);
      return {
        name: client.name,
        client_host: client.host,
        returns_to: placeOf(redirect_uri),
        is_local: isOfThisComputer(redirect_uri),
        scopes,
        fault: fault?.detail ?? null,
        refusal_url: asked.answer(
          fault === null
            ? { error: 'access_denied' }
            : { error: fault.code, error_description: fault.detail },
        ),
      };
    },
  });
}

function grantRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: list,
    config: { scope: 'user:write', session: true, no_store: true },
    summary: 'Let an assistant sign in',
    description:
      'Creates a key that only works at `/mcp`, and gives the assistant a code for its ' +
      'first token. An earlier grant to the same registered client ends.',
    body: AgentGrant,
    response: { 201: AgentGranted },
    handler: async (request, reply) => {
      const asked = await readAuthorization(deps, body(request, AgentGrant));
      if (asked.fault !== null) throw invalid(null, 'invalid_input', asked.fault.detail);
      return write(request, reply, 201, async (tx, record) => {
        const person = personOf(request);
        const now_ms = deps.clock.now();
        await lockOwner(tx, person.user_id);
        await confirmCaller(tx, request);
        const given = await keyBody(request, AgentGrant, { db: tx, now_ms });
        refuseMore(asked, given, now_ms);
        const limits = await limitsOf(tx, person, given);
        const { client_id, scopes, expires_at } = given;
        const granted = { scopes, expires_at, ...limits };
        const { key, replaced, code } = await grant(tx, deps, person, asked, client_id, granted);
        record(entryOf(request, 'created', undefined, { ...key, ...replaced }));
        return isValidateOnly(request) ? {} : { redirect_url: asked.answer({ code }) };
      });
    },
  });
}

type Limits = { scoped_organizations?: string[]; scoped_teams?: number[] };

/** Without limits, the grant covers the person's current organizations, and no later ones. */
async function limitsOf(
  tx: Transaction,
  person: Person,
  { scoped_organizations = [], scoped_teams = [] }: Limits,
): Promise<Limits> {
  if (scoped_organizations.length > 0) return { scoped_organizations, scoped_teams };
  const { scoped_organizations: kept } = keptToReach<Limits>(person, {});
  if (scoped_teams.length > 0) return { scoped_organizations: kept ?? [], scoped_teams };
  const all = kept ?? (await listOrganizationIds(tx, person.user_id));
  if (all.length === 0)
    throw invalid(null, 'invalid_input', 'You are in no organization that it could use.');
  return { scoped_organizations: all };
}

/** Throws 400 if the grant exceeds the request, in rights or in time. */
function refuseMore(
  { scopes: asked }: Authorization,
  { scopes, expires_at }: { scopes: string[]; expires_at: string },
  now_ms: number,
): void {
  const more = scopes.findIndex((one) => !(asked as string[]).includes(one));
  if (more !== -1)
    throw invalid(`scopes__${more}`, 'invalid_choice', 'The assistant did not request this.');
  if (Date.parse(expires_at) > now_ms + lives_ms_max)
    throw invalid('expires_at', 'invalid_input', 'Must be within a year.');
}

async function grant(
  tx: Transaction,
  { secrets, clock, config }: Deps,
  person: Person,
  { client, redirect_uri, code_challenge }: Authorization,
  client_id: string,
  granted: Limits & { scopes: string[]; expires_at: string },
) {
  const { user_id } = person;
  const client_hash = secrets.hash(client_id);
  // All installations of a program share the id of a document, and each has its own grant.
  const replaced_keys = client.host === null ? await deleteGrantsOf(tx, user_id, client_hash) : 0;
  refuseTooMany(await countLiveApiKeys(tx, user_id, clock.now()));
  const label = client.name;
  const fields = { ...granted, user_id, label, resource: agentResource({ config }) };
  // Nobody sees this value: the first token replaces it.
  const { id: key_id } = await insertApiKey(tx, secrets, fields, createApiKey('agent'));
  const code = randomBase62();
  await insertGrant(
    tx,
    {
      key_id,
      client_hash,
      client_host: client.host,
      redirect_uri,
      returns_to: placeOf(redirect_uri),
      code_hash: secrets.hash(code),
      code_challenge,
    },
    clock.now(),
  );
  const key = (await findApiKey(tx, person, key_id))!;
  return { key, code, replaced: replaced_keys === 0 ? {} : { replaced_keys } };
}
