import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchor_fields } from '../../server/api/domains/schema.ts';
import { shareHarness } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

// Every field of every route that changes who may sign in, as which level, or through whom. A new
// one has to be named here, with what guards it.

/**
 * The guard of a route:
 * - `owner`: level 15, the scope `organization_security:write`, a recent confirmation in a session;
 * - `waits`: a change by a member below an owner has no effect before an owner confirms it;
 * - `level`: bounded by the level of the person who asks (`members/rules.ts`, `invites/check.ts`);
 * - `administrator`: level 8, as the contract says;
 * - `person`: the person's own factor, or the link that was mailed to them;
 * - `key`: never more than the session in which the key is changed;
 * - `taking_away`: gives nobody anything.
 */
type Guard =
  | 'owner'
  | 'waits'
  | 'level'
  | 'administrator'
  | 'person'
  | 'key'
  | 'taking_away'
  | 'plain';

const organization = '/api/organizations/:organization_id/';
const domain = `${organization}domains/:id/`;
const me = '/api/users/@me/';

/** The parameters with which an assistant asks to be let in. */
const of_authorization = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
];

/** The routes by path, with their guard and the fields that they take. */
const guarded: Record<string, [Guard, ...string[]]> = {
  '/api/organizations/': [
    'plain',
    'name',
    'is_member_join_email_enabled',
    'enforce_2fa',
    'forbids_agent_writes',
  ],
  '/api/organizations/:id/': [
    'administrator',
    'name',
    'is_member_join_email_enabled',
    'enforce_2fa',
    'forbids_agent_writes',
  ],
  [`${organization}members/:user__uuid/`]: ['level', 'level'],
  [`${organization}members/:user__uuid/sessions/`]: ['taking_away'],
  [`${organization}members/:user__uuid/sessions/:id/`]: ['taking_away'],
  [`${organization}invites/`]: ['level', 'target_email', 'first_name', 'level', 'message'],
  [`${organization}invites/bulk/`]: ['level'],
  [`${organization}invites/:id/`]: ['taking_away'],
  [`${organization}invites/:id/resend/`]: ['level'],
  '/api/invites/:id/accept/': ['person', 'token', 'password', 'first_name', 'last_name'],
  [`${organization}domains/`]: ['waits', ...anchor_fields],
  [domain]: ['waits', ...anchor_fields],
  [`${organization}domains/provider_metadata/`]: ['plain', 'metadata'],
  [`${domain}pending_changes/confirm/`]: ['owner'],
  [`${domain}pending_changes/`]: ['taking_away'],
  [`${domain}verify/`]: ['administrator'],
  [`${domain}test_sign_in/`]: ['administrator'],
  [`${domain}setup_links/`]: ['owner', 'name', 'expires_at'],
  [`${domain}setup_links/:link_id/`]: ['taking_away'],
  [`${domain}scim/`]: ['owner', 'may_manage_owners'],
  [`${domain}scim/tokens/`]: ['owner', 'name', 'expires_at'],
  [`${domain}scim/tokens/:token_id/`]: ['owner'],
  [`${domain}scim/groups/:group_id/`]: ['owner', 'level'],
  [`${organization}security/`]: [
    'owner',
    'provider_is_second_factor',
    'requires_sso',
    'session_hours_max',
    'idle_minutes_max',
    'allowed_ip_ranges',
    'accepted_providers',
    'exempt_members',
  ],
  '/api/personal_api_keys/': [
    'key',
    'label',
    'scopes',
    'scoped_organizations',
    'scoped_teams',
    'expires_at',
    'allowed_ip_ranges',
  ],
  '/api/personal_api_keys/:id/': [
    'key',
    'label',
    'scopes',
    'scoped_organizations',
    'scoped_teams',
    'expires_at',
    'allowed_ip_ranges',
  ],
  '/api/personal_api_keys/:id/roll/': ['key', 'overlap_seconds'],
  '/api/personal_api_keys/agents/preview/': ['plain', ...of_authorization],
  '/api/personal_api_keys/agents/': [
    'key',
    ...of_authorization,
    'scopes',
    'scoped_organizations',
    'scoped_teams',
    'expires_at',
  ],
  '/api/sessions/': ['person', 'email', 'password', 'code', 'passkey'],
  '/api/sessions/passkey/begin/': ['plain'],
  '/api/sessions/passkey/': ['person', 'passkey'],
  '/api/sessions/@current/confirm/': ['person', 'password', 'code', 'passkey'],
  '/api/sessions/:id/': ['taking_away'],
  [me]: ['person', 'first_name', 'last_name', 'mascot_config', 'current_password'],
  [`${me}email/`]: ['person', 'current_password', 'email'],
  [`${me}verify_email/`]: ['person'],
  '/api/users/verify_email/': ['person', 'token'],
  [`${me}password/`]: ['person', 'current_password', 'new_password'],
  [`${me}reset_password/`]: ['person'],
  '/api/users/reset_password/': ['plain', 'email'],
  '/api/users/reset_password/confirm/': ['person', 'token', 'password'],
  [`${me}totp/`]: ['person', 'current_password', 'code', 'passkey'],
  [`${me}totp/confirm/`]: ['person', 'code'],
  [`${me}recovery_codes/`]: ['person', 'current_password', 'code', 'passkey'],
  [`${me}passkeys/begin/`]: ['person', 'current_password', 'code', 'passkey'],
  [`${me}passkeys/`]: ['person', 'name', 'passkey'],
  [`${me}passkeys/:id/`]: ['person', 'name', 'current_password', 'code', 'passkey'],
  '/api/single_sign_on/link/': ['person', 'token'],
};

/** Routes of these nouns are about people, their ways in and their rights. */
const about_people =
  /^\/api\/(?:users|sessions|invites|personal_api_keys|single_sign_on)\/|^\/api\/organizations\/(?:$|:id\/$|:organization_id\/(?:members|invites|domains|security)\/)/;

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(
      ({ method, path }) => method !== 'GET' && about_people.test(path),
    );
  },
});
let routes: RegisteredRoute[];

const named = ({ method, path }: RegisteredRoute) => `${method} ${path}`;

test('every route about people, and each of its fields, is named with what guards it', () => {
  const seen = new Map<string, Set<string>>();
  for (const { path, body } of routes) {
    const fields = seen.get(path) ?? new Set();
    for (const field of Object.keys(body?.properties ?? {})) fields.add(field);
    seen.set(path, fields);
  }
  for (const [path, fields] of seen) {
    const known = guarded[path];
    assert.ok(known, `${path} is not in the list: say what guards it`);
    const unknown = [...fields].filter((field) => !known.slice(1).includes(field));
    assert.deepEqual(unknown, [], `${path} takes fields that are not in the list`);
  }
  assert.deepEqual(
    Object.keys(guarded).filter((path) => !seen.has(path)),
    [],
    'paths of the list that are gone',
  );
});

test('an owner’s right needs level, scope and a recent confirmation', () => {
  const owned = routes.filter(({ path }) => guarded[path]?.[0] === 'owner');
  assert.ok(owned.length >= 9);
  for (const route of owned)
    assert.deepEqual(
      [route.level, route.scope, route.recent_factor],
      [15, 'organization_security:write', true],
      named(route),
    );
});

test('a person’s own settings need a session that reaches the whole account', () => {
  const own = routes.filter(({ path }) => path.startsWith(me) && path !== `${me}reset_password/`);
  assert.ok(own.length >= 10);
  for (const route of own) assert.ok(route.own_account, named(route));
});

test('each field of a domain that an administrator sets waits', async () => {
  const home = await harness.newOrganization();
  const administrator = await harness.newMember(home.organization.id, 8);
  const base = `/api/organizations/${home.organization.id}/domains/`;
  const values: Record<(typeof anchor_fields)[number], unknown> = {
    domain: 'other-anchors.example',
    jit_provisioning_enabled: true,
    sso_enforcement: 'saml',
    saml_entity_id: 'urn:anchor',
    saml_acs_url: 'https://idp.example/',
    saml_x509_cert: null,
  };
  const { body } = await home.ask('POST', base, { domain: 'trust-anchors.example' });
  for (const field of anchor_fields) {
    // A change that lacks a proof, or another field, is refused in the same way for everybody.
    const { status, body: answer } = await administrator.ask('PATCH', `${base}${body.id}/`, {
      [field]: values[field],
    });
    assert.ok(status === 200 || status === 400, `${field}: ${status}`);
    const standing = status === 200 ? answer[field] : body[field];
    assert.deepEqual(standing, body[field], field);
  }
});
