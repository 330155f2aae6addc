import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { targetParameter } from '../../server/platform/http/caller/guard.ts';
import { shareHarness } from '../harness.ts';
import type { Answer, TestOrganization } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';

// A session that somebody's provider opened, at every route: it reaches the organization of the
// provider, and nothing else that its person has.

const unknown = { organization: '01890000-0000-7000-8000-000000000000', project: '2147483647' };

/**
 * The routes of the account that such a session may use: look at what it reaches, confirm the
 * person, and leave. Its keys have the same bounds.
 */
const of_the_session = [
  'GET /api/users/@me/',
  'GET /api/sessions/:id/',
  'DELETE /api/sessions/:id/',
  'POST /api/sessions/@current/confirm/',
  'POST /api/users/@me/reset_password/',
  /^\w+ \/api\/personal_api_keys\//,
];

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = (await everyRoute(harness.deps)).filter(
      (route) => route.scope !== 'public' && route.path !== '/mcp',
    );
    victim = await harness.newOrganization({ name: 'Victim of a provider' });
    foreign = await harness.newOrganization({ name: 'Foreign to a provider' });
    cookie = await providerSession();
  },
});
let routes: RegisteredRoute[];
let victim: TestOrganization;
let foreign: TestOrganization;
let cookie: string;

/** The victim's owner, signed in by the provider of a stranger's organization. */
async function providerSession(): Promise<string> {
  const stranger = await harness.newOrganization();
  const base = `/api/organizations/${stranger.organization.id}/domains/`;
  const { body } = await stranger.ask('POST', base, { domain: 'provider-sessions.example' });
  await harness.deps.db.run(sql`UPDATE domains SET state = 'verified' WHERE id = ${body.id}::uuid`);
  const session = await harness.newSession(victim.user);
  await harness.deps.db.run(sql`UPDATE sessions SET method = 'saml', domain_id = ${body.id}::uuid
    WHERE user_id = ${victim.user.id}`);
  return session;
}

function pathOf({ path, within }: RegisteredRoute, target: string): string {
  const parameter = within === undefined ? undefined : targetParameter(path, within);
  return path.replaceAll(/:(\w+)/g, (_whole, name: string) =>
    name === parameter ? target : unknown.organization,
  );
}

function ask({ method }: RegisteredRoute, path: string): Promise<Answer> {
  const isChange = method !== 'GET';
  return harness.request(method, isChange ? `${path}?validate_only=true` : path, {
    headers: { cookie },
    ...(isChange ? { body: {} } : {}),
  });
}

const named = ({ method, path }: RegisteredRoute) => `${method} ${path}`;
const wordsOf = ({ status, body }: Answer) => ({ status, ...body, request_id: '' }) as unknown;

test("no route of an organization is open to the provider of another one's", async () => {
  const inside = routes.filter(({ within }) => within !== undefined);
  assert.ok(inside.length > 100);
  for (const route of inside) {
    const isProject = route.within === 'project';
    const own = isProject ? String(victim.project.id) : victim.organization.id;
    const refused = await ask(route, pathOf(route, own));
    // The catalog tells errors as Iceberg does.
    const code = route.path.startsWith('/iceberg/') ? 'ForbiddenException' : 'own_factor_required';
    assert.deepEqual(
      [refused.status, refused.body.code ?? refused.body.error?.type],
      [403, code],
      named(route),
    );
    const other = isProject ? String(foreign.project.id) : foreign.organization.id;
    const hidden = await ask(route, pathOf(route, other));
    const missing = await ask(route, pathOf(route, unknown[route.within!]));
    assert.equal(hidden.status, 404, named(route));
    assert.deepEqual(wordsOf(hidden), wordsOf(missing), named(route));
  }
});

test('no other route shows what the session does not reach, or changes the account', async () => {
  const outside = routes.filter(({ within }) => within === undefined);
  for (const route of outside) {
    const answer = await ask(route, pathOf(route, unknown.organization));
    for (const secret of [victim.organization.id, victim.organization.name, victim.project.uuid])
      assert.ok(!answer.text.includes(secret), named(route));
    const isOfSession = of_the_session.some((one) =>
      typeof one === 'string' ? one === named(route) : one.test(named(route)),
    );
    if (route.scope.startsWith('user:') && !isOfSession)
      assert.deepEqual(
        [answer.status, answer.body?.code],
        [403, 'own_factor_required'],
        named(route),
      );
  }
});
