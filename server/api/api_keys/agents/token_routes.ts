import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { createApiKey, randomBase62 } from '../../../platform/http/caller/api_key.ts';
import { jsonBody } from '../../../platform/http/bodies/body.ts';
import { ApiError, throttled } from '../../../platform/http/errors.ts';
import { addressOf } from '../../../platform/http/limits/address.ts';
import { OAuthRefused, oauthForm, oauthRoute } from '../../../platform/http/oauth_answers.ts';
import { noteSecurity } from '../../../platform/http/security_log/note_security.ts';
import { write } from '../../../platform/http/write.ts';
import type { RecordActivity } from '../../../platform/http/write.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { deleteApiKey, lockOwner } from '../store.ts';
import { isResource } from './authorization.ts';
import { registerClient } from './client.ts';
import { openSelfSaid, selfSaid } from './self_said.ts';
import { findGrant, replaceTokens } from './store.ts';
import type { Grant } from './store.ts';

const token_seconds = 3_600;
/** A client that lost an answer can repeat the refresh token for this time. */
const repeat_ms = 30_000;
const refresh_prefix = 'slr_';
const registration_bytes_max = 16 * 1024;

type Form = ReadonlyMap<string, string>;
type Tokens = {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
};

/** Routes that assistants call without a browser: register, get tokens, end them. */
export function tokenRoutes(app: FastifyInstance, deps: Deps): void {
  const limited = {
    onRequest: async (request: FastifyRequest) => limitAddress(request),
  };
  app.post(
    '/oauth/register',
    { ...oauthRoute(201), ...limited, bodyLimit: registration_bytes_max },
    async (request, reply) => {
      const { client_id, name, redirect_uris } = registerClient(deps, metadataOf(request));
      void reply.code(201);
      return {
        client_id,
        client_id_issued_at: Math.floor(deps.clock.now() / 1_000),
        client_name: name,
        redirect_uris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      };
    },
  );
  app.post('/oauth/token', { ...oauthRoute(), ...limited }, (request, reply) => {
    const form = oauthForm(request);
    const grant_type = form.get('grant_type');
    if (grant_type === 'authorization_code') return redeem(request, reply, deps, form);
    if (grant_type === 'refresh_token') return refresh(request, reply, deps, form);
    throw new OAuthRefused(
      'unsupported_grant_type',
      'The grant_type must be authorization_code or refresh_token.',
    );
  });
  app.post('/oauth/revoke', { ...oauthRoute(), ...limited }, (request, reply) =>
    revoke(request, reply, deps, oauthForm(request)),
  );
}

function limitAddress({ server, ip }: FastifyRequest): void {
  const budget = server.limiter.take(`assistants from ${addressOf(ip)}`);
  if (budget?.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
}

function metadataOf(request: FastifyRequest): unknown {
  try {
    return jsonBody(request);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new OAuthRefused('invalid_client_metadata', error.message);
  }
}

function redeem(request: FastifyRequest, reply: FastifyReply, deps: Deps, form: Form) {
  const code_hash = deps.secrets.hash(form.get('code') ?? '');
  return withGrant(request, reply, deps, { code_hash }, form, randomBase62(), (grant) => {
    // A code that is used twice may have been stolen, so its grant ends.
    if (grant.refresh_hash !== null) return 'code_reused';
    const redirect_uri = form.get('redirect_uri');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (redirect_uri !== undefined && redirect_uri !== grant.redirect_uri)
      throw unacceptable('The redirect_uri differs from the first request.');
    if (challenge !== grant.code_challenge) throw unacceptable('The code_verifier is wrong.');
    if (Date.parse(grant.code_expires_at) <= deps.clock.now())
      throw unacceptable('The code has expired.');
    return undefined;
  });
}

function refresh(request: FastifyRequest, reply: FastifyReply, deps: Deps, form: Form) {
  const token = form.get('refresh_token') ?? '';
  const key_id = openRefreshToken(deps, token);
  if (key_id === undefined) throw unacceptable('The refresh_token is unknown.');
  return withGrant(request, reply, deps, { key_id }, form, token, (grant) => {
    // An older refresh token must have been copied, and nobody can tell who the thief is, so the
    // grant ends.
    if (!isPresent(deps, grant, token) && !isRepeated(deps, grant, token))
      return 'refresh_token_reused';
    const scopes = (form.get('scope') ?? '').split(' ').filter((one) => one !== '');
    if (scopes.some((one) => !grant.scopes.includes(one)))
      throw new OAuthRefused('invalid_scope', `The grant has the scopes ${scopeOf(grant)}.`);
    return undefined;
  });
}

/**
 * Answers with the tokens of a grant that follow `before`, unless `judge` refuses. If the token was
 * misused, the grant ends.
 */
async function withGrant(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: Deps,
  by: Parameters<typeof findGrant>[1],
  form: Form,
  before: string,
  judge: (grant: Grant) => 'code_reused' | 'refresh_token_reused' | undefined,
): Promise<Tokens | FastifyReply> {
  let misused: string | undefined;
  const tokens = await write(request, reply, 200, async (tx, record) => {
    const grant = await lockGrant(tx, by);
    if (grant === undefined || !isOfClient(deps, grant, form))
      throw unacceptable('The grant is unknown, has ended, or belongs to another client.');
    if (!isResource(deps, form.get('resource')))
      throw new OAuthRefused('invalid_target', 'The resource differs from the granted one.');
    misused = judge(grant);
    if (misused !== undefined) {
      noteMisuse(request, grant, misused);
      await endGrant(tx, record, grant);
      return undefined;
    }
    if (!grant.is_active || Date.parse(grant.expires_at) <= deps.clock.now())
      throw unacceptable('The grant has ended.');
    record('nothing');
    return issue(tx, deps, grant, before);
  });
  if (tokens === undefined) throw unacceptable('It was used before, so the grant has ended.');
  return tokens;
}

/** Returns the grant and locks its person, so that changes of their keys wait for each other. */
async function lockGrant(
  tx: Transaction,
  by: Parameters<typeof findGrant>[1],
): Promise<Grant | undefined> {
  const found = await findGrant(tx, by);
  if (found === undefined) return undefined;
  await lockOwner(tx, found.user_id);
  return findGrant(tx, by);
}

/**
 * Derives the next tokens from the current one: the same input gives the same tokens, and only this
 * server can derive them.
 */
function tokensAfter({ secrets }: Pick<Deps, 'secrets'>, key_id: string, before: string) {
  const bits = (name: string) => secrets.hash(`${name} of an assistant after ${before}`);
  return {
    token: createApiKey('agent', bits('token')),
    refresh_token: selfSaid(secrets, refresh_prefix, `${key_id} ${randomBase62(bits('refresh'))}`),
  };
}

async function issue(tx: Transaction, deps: Deps, grant: Grant, before: string): Promise<Tokens> {
  const { secrets, clock } = deps;
  const { token, refresh_token } = tokensAfter(deps, grant.key_id, before);
  const is_repeated = isRepeated(deps, grant, before);
  const ends_ms = Date.parse(is_repeated ? grant.token_expires_at! : grant.expires_at);
  const expires_in = Math.min(token_seconds, Math.floor((ends_ms - clock.now()) / 1_000));
  if (!is_repeated)
    await replaceTokens(tx, grant.key_id, {
      token,
      token_hash: secrets.hash(token),
      refresh_hash: secrets.hash(refresh_token),
      expires_at_ms: clock.now() + expires_in * 1_000,
    });
  return {
    access_token: token,
    token_type: 'Bearer',
    expires_in,
    refresh_token,
    scope: scopeOf(grant),
  };
}

/** Ends a grant by one of its tokens (RFC 7009); the answer for an unknown token is the same. */
async function revoke(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: Deps,
  form: Form,
): Promise<unknown> {
  const token = form.get('token') ?? '';
  const key_id = openRefreshToken(deps, token);
  const by = key_id === undefined ? { token_hash: deps.secrets.hash(token) } : { key_id };
  return write(request, reply, 200, async (tx, record) => {
    const grant = await lockGrant(tx, by);
    const is_right =
      grant !== undefined &&
      isOfClient(deps, grant, form) &&
      (key_id === undefined || isPresent(deps, grant, token));
    if (is_right) await endGrant(tx, record, grant);
    else record('nothing');
    return {};
  });
}

async function endGrant(tx: Transaction, record: RecordActivity, grant: Grant): Promise<void> {
  const { key_id, user_id, user_uuid, email, mask_value, label, scopes } = grant;
  await deleteApiKey(tx, key_id);
  record({
    activity: 'deleted',
    scope: 'personal_api_key',
    item_id: key_id,
    item_name: label,
    changes: changesOf({ label, scopes }, undefined),
    chain: { user_uuid },
    actor: { user_id, user_uuid, email, key_id, key_mask: mask_value },
  });
}

function noteMisuse(request: FastifyRequest, grant: Grant, reason: string): void {
  const { user_id: id, user_uuid: uuid, email, mask_value: key_mask } = grant;
  request.concerned = { key_mask, person: { id, uuid, email }, organizations: null };
  noteSecurity(request, { event: 'key_refused', reason });
}

/** Returns the key behind a refresh token of this server, whatever its age. */
function openRefreshToken({ secrets }: Pick<Deps, 'secrets'>, token: string): string | undefined {
  return openSelfSaid(secrets, refresh_prefix, token)?.split(' ')[0];
}

function isPresent({ secrets }: Pick<Deps, 'secrets'>, grant: Grant, token: string): boolean {
  return grant.refresh_hash !== null && timingSafeEqual(secrets.hash(token), grant.refresh_hash);
}

/** Returns true for the refresh token that the current one has just replaced. */
function isRepeated(deps: Pick<Deps, 'secrets' | 'clock'>, grant: Grant, token: string): boolean {
  const replaced_ms = Date.parse(grant.token_expires_at ?? '') - token_seconds * 1_000;
  return (
    deps.clock.now() < replaced_ms + repeat_ms &&
    isPresent(deps, grant, tokensAfter(deps, grant.key_id, token).refresh_token)
  );
}

function isOfClient({ secrets }: Pick<Deps, 'secrets'>, grant: Grant, form: Form): boolean {
  return timingSafeEqual(secrets.hash(form.get('client_id') ?? ''), grant.client_hash);
}

function scopeOf({ scopes }: Grant): string {
  return scopes.join(' ');
}

function unacceptable(detail: string): OAuthRefused {
  return new OAuthRefused('invalid_grant', detail);
}
