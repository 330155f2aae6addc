// Length: one test for each way to get more than a person granted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../../test/harness.ts';
import {
  askWith,
  assistantOf,
  callback,
  codeIn,
  letIn,
  newAssistant,
  redeem,
  renew,
  sendForm,
  server_url,
  signedIn,
} from '../../../../test/factories/assistants.ts';
import type { Assistant } from '../../../../test/factories/assistants.ts';
import { only_deep } from '../../../../test/depth.ts';
import { sweepGrants } from './store.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
    cookie = await harness.newSession(home.user);
    helper = await newAssistant(harness);
  },
});
let home: TestOrganization;
let cookie: string;
let helper: Assistant;

const refusedWith = ({ status, body }: Answer) => [status, body.error];
const preview = (asked: object) =>
  harness.request('POST', '/api/personal_api_keys/agents/preview/', {
    headers: { cookie },
    body: asked,
  });
const activities = async () =>
  (
    await harness.deps.db.rows<{ activity: string }>(sql`SELECT activity FROM activity
    WHERE chain_id = ${home.user.uuid}::uuid AND scope = 'personal_api_key' ORDER BY number`)
  ).map(({ activity }) => activity);

/** Moves the present tokens of the person into the past. */
const letPass = (seconds: number) =>
  harness.deps.db.run(sql`UPDATE personal_api_keys
    SET token_expires_at = token_expires_at - make_interval(secs => ${seconds})
    WHERE user_id = ${home.user.id} AND token_expires_at IS NOT NULL`);

test('a code is good once: its second use ends the grant', async () => {
  const code = codeIn(await letIn(harness, cookie, helper.asked));
  const { body } = await redeem(harness, helper, code);
  assert.equal(await askWith(harness, body.access_token), 200);
  assert.deepEqual(refusedWith(await redeem(harness, helper, code)), [400, 'invalid_grant']);
  assert.equal(await askWith(harness, body.access_token), 401);
  assert.deepEqual(refusedWith(await renew(harness, helper, body.refresh_token)), [
    400,
    'invalid_grant',
  ]);
  assert.deepEqual((await activities()).slice(-2), ['created', 'deleted']);
});

test('a stolen code is of no use', async () => {
  const code = codeIn(await letIn(harness, cookie, helper.asked));
  const thief = await newAssistant(harness);
  const tries: [Answer, string][] = [
    [await redeem(harness, helper, code, { code_verifier: thief.verifier }), 'invalid_grant'],
    [await redeem(harness, helper, code, { code_verifier: '' }), 'invalid_grant'],
    [await redeem(harness, helper, code, { client_id: thief.client_id }), 'invalid_grant'],
    [await redeem(harness, helper, code, { redirect_uri: `${callback}/x` }), 'invalid_grant'],
    [
      await redeem(harness, helper, code, { resource: 'https://other.example/mcp' }),
      'invalid_target',
    ],
    [await redeem(harness, helper, `${code}x`), 'invalid_grant'],
    [await redeem(harness, helper, code, { grant_type: 'password' }), 'unsupported_grant_type'],
  ];
  for (const [answer, error] of tries) assert.deepEqual(refusedWith(answer), [400, error]);
  // None of that ended it for the one that it belongs to.
  assert.equal((await redeem(harness, helper, code)).status, 200);
});

test('a refresh token that was replaced a while ago ends the grant', async () => {
  const first = await signedIn(harness, cookie, helper);
  const second = (await renew(harness, helper, first.refresh_token)).body;
  assert.deepEqual(
    [await askWith(harness, first.access_token), await askWith(harness, second.access_token)],
    [401, 200],
  );
  await letPass(31);
  assert.deepEqual(refusedWith(await renew(harness, helper, first.refresh_token)), [
    400,
    'invalid_grant',
  ]);
  assert.equal(await askWith(harness, second.access_token), 401);
  assert.equal((await renew(harness, helper, second.refresh_token)).status, 400);
  await harness.deps.security_log.flush();
  const noted = await harness.deps.db.row<{ reason: string }>(sql`SELECT reason FROM security_events
    WHERE user_id = ${home.user.id} AND reason = 'refresh_token_reused'`);
  assert.ok(noted !== undefined);
});

test('a client that lost an answer gets it again, for half a minute', async () => {
  const first = await signedIn(harness, cookie, helper);
  const answers = await Promise.all([1, 2].map(() => renew(harness, helper, first.refresh_token)));
  const [one, other] = answers.map(({ body: { expires_in: _, ...tokens } }) => tokens);
  assert.deepEqual(one, other);
  assert.equal(await askWith(harness, one!.access_token), 200);
  await letPass(29);
  const late = (await renew(harness, helper, first.refresh_token)).body;
  assert.equal(late.access_token, one!.access_token);
  assert.ok(late.expires_in <= 3_571, 'a repeat gives no more time');
  const next = (await renew(harness, helper, one!.refresh_token)).body;
  assert.notEqual(next.access_token, one!.access_token);
  // The grandparent of the present one was copied, however little time has passed.
  assert.equal((await renew(harness, helper, first.refresh_token)).status, 400);
  assert.equal(await askWith(harness, next.access_token), 401);
});

test('a renewal gives no more than was granted, and no other client', async () => {
  const { refresh_token } = await signedIn(harness, cookie, helper);
  const other = await newAssistant(harness);
  const tries: [Record<string, string>, string][] = [
    [{ scope: 'batch_export:read organization:write' }, 'invalid_scope'],
    [{ scope: '*' }, 'invalid_scope'],
    [{ client_id: other.client_id }, 'invalid_grant'],
    [{ resource: `${server_url}/api` }, 'invalid_target'],
    [{ refresh_token: `${refresh_token.slice(0, -2)}xx` }, 'invalid_grant'],
  ];
  for (const [more, error] of tries)
    assert.deepEqual(refusedWith(await renew(harness, helper, refresh_token, more)), [400, error]);
  const { body } = await renew(harness, helper, refresh_token, { scope: 'project:read' });
  assert.equal(body.scope, 'batch_export:read project:read');
});

test('a person grants no scope that was not asked for, and no longer than a year', async () => {
  const more = await letIn(harness, cookie, helper.asked, { scopes: ['organization:write'] });
  assert.deepEqual([more.status, more.body.attr], [400, 'scopes__0']);
  const longer = { expires_at: new Date(Date.now() + 400 * 86_400_000).toISOString() };
  const long = await letIn(harness, cookie, helper.asked, longer);
  assert.deepEqual([long.status, long.body.attr], [400, 'expires_at']);
  const stranger = await harness.newOrganization();
  const foreign = { scoped_organizations: [stranger.organization.id] };
  assert.equal((await letIn(harness, cookie, helper.asked, foreign)).status, 400);
});

test('a token works at /mcp alone, and a grant changes by a sign-in alone', async () => {
  const { access_token: key } = await signedIn(harness, cookie, helper);
  for (const path of ['/api/projects/', '/api/personal_api_keys/@current/'])
    assert.equal((await harness.request('GET', path, { key })).status, 401, path);
  const agent = { 'sluice-agent': 'mcp' };
  assert.equal(
    (await harness.request('GET', '/api/projects/', { key, headers: agent })).status,
    401,
  );
  const exchanged = { grant_type: 'client_credentials', client_secret: key };
  assert.equal((await sendForm(harness, '/iceberg/v1/oauth/tokens', exchanged)).status, 401);
  const { body } = await harness.request('GET', '/api/personal_api_keys/', { headers: { cookie } });
  const grant = body.results.find(({ agent: one }: { agent: object | null }) => one !== null);
  assert.deepEqual(grant.agent, { client_host: null, returns_to: '127.0.0.1' });
  assert.deepEqual(grant.scoped_organizations, [home.organization.id]);
  const path = `/api/personal_api_keys/${grant.id}/`;
  const wider = { headers: { cookie }, body: { scopes: ['*'] } };
  assert.equal((await harness.request('PATCH', path, wider)).status, 409);
  assert.equal(
    (await harness.request('POST', `${path}roll/`, { headers: { cookie } })).status,
    409,
  );
});

test('a token of another resource is refused', async () => {
  const { access_token } = await signedIn(harness, cookie, helper);
  await harness.deps.db.run(sql`UPDATE personal_api_keys SET resource = 'https://old.example/mcp'
    WHERE key_hash = ${harness.deps.secrets.hash(access_token)}`);
  assert.equal(await askWith(harness, access_token), 401);
});

test('nobody is led to an address that the client did not register', async () => {
  const { asked } = helper;
  const others = [
    'https://evil.example/callback',
    `${callback}/../x`,
    'http://127.0.0.1:33418/callback?x=1',
    'http://127.0.0.1.evil.example/callback',
    'http://user@127.0.0.1:33418/callback',
    'javascript:alert(1)',
    'http://127.0.0.1:99999/callback',
    'http://127.0.0.1:1/x/../callback',
    'no address',
  ];
  for (const redirect_uri of others) {
    const answer = await preview({ ...asked, redirect_uri });
    assert.deepEqual([answer.status, answer.body.attr], [400, 'redirect_uri'], redirect_uri);
    assert.equal((await letIn(harness, cookie, { ...asked, redirect_uri })).status, 400);
  }
  const port_is_free = await preview({ ...asked, redirect_uri: 'http://127.0.0.1:9/callback' });
  assert.equal(port_is_free.status, 200);
  assert.equal((await preview({ ...asked, client_id: 'unknown' })).body.attr, 'client_id');
});

test('a request that cannot be granted is told, and leads nowhere by itself', async () => {
  const { asked } = helper;
  const wrong: [object, string][] = [
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
    [{ scope: 'everything' }, 'invalid_scope'],
  ];
  for (const [more, error] of wrong) {
    const { body } = await preview({ ...asked, ...more });
    assert.equal(new URL(body.refusal_url).searchParams.get('error'), error);
    assert.notEqual(body.fault, null);
    const scopes = { scopes: ['project:read'] };
    assert.equal((await letIn(harness, cookie, { ...asked, ...more }, scopes)).status, 400);
  }
});

test('a grant needs a session of this site, and no key', async () => {
  const body = { ...helper.asked, scopes: ['project:read'], expires_at: '2999-01-01T00:00:00Z' };
  const path = '/api/personal_api_keys/agents/';
  const foreign = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  assert.equal((await harness.request('POST', path, { headers: foreign, body })).status, 403);
  assert.equal((await home.ask('POST', path, body)).status, 403);
  assert.equal((await harness.request('POST', path, { body })).status, 401);
});

test('registrations are read with care, and none is stored', async () => {
  const register = (body: unknown) => harness.request('POST', '/oauth/register', { body });
  const uris = (...redirect_uris: string[]) => register({ redirect_uris });
  const refused = [
    await uris(),
    await uris('http://evil.example/callback'),
    await uris('javascript:alert(1)'),
    await uris('data:text/html,x'),
    await uris('https://ok.example/#x'),
    await uris('https://user:word@ok.example/'),
    await uris('evil://x'),
    await uris(...Array.from({ length: 11 }, (_, at) => `https://ok.example/${at}`)),
    await uris(...[1, 2, 3].map((at) => `https://ok.example/${'x'.repeat(250)}${at}`)),
    await register({ redirect_uris: [callback], client_name: 'x'.repeat(101) }),
    await register({ redirect_uris: [callback], client_name: 'a\u202Eb' }),
    await register({ redirect_uris: [callback], grant_types: ['client_credentials'] }),
    await register([]),
    await register('no JSON'),
  ];
  for (const { status, body } of refused) {
    assert.equal(status, 400);
    assert.match(body.error, /^invalid_(redirect_uri|client_metadata)$/);
  }
  const huge = await register({ redirect_uris: [callback], client_name: 'x'.repeat(20_000) });
  assert.equal(huge.status, 413);
  const schemes = await uris('cursor://x/callback', 'com.example.app:/callback', 'http://[::1]:1/');
  assert.equal(schemes.status, 201);
  assert.ok(schemes.body.client_id.length < 1_200);
});

test('a grant ends with what ends a key', async () => {
  const member = await harness.newMember(home.organization.id, 1);
  const own = await harness.newSession(member.user);
  const { db } = harness.deps;
  const setActive = (is_active: boolean) =>
    db.run(sql`UPDATE users SET is_active = ${is_active} WHERE id = ${member.user.id}`);
  const tokens = await signedIn(harness, own, helper);
  await setActive(false);
  assert.equal(await askWith(harness, tokens.access_token), 401);
  assert.equal((await renew(harness, helper, tokens.refresh_token)).status, 400);
  await setActive(true);
  const present = (await renew(harness, helper, tokens.refresh_token)).body;
  assert.equal(await askWith(harness, present.access_token), 200);
  await db.run(sql`UPDATE personal_api_keys SET expires_at = now() - interval '1 second'
    WHERE user_id = ${member.user.id} AND resource IS NOT NULL`);
  assert.equal(await askWith(harness, present.access_token), 401);
  assert.equal((await renew(harness, helper, present.refresh_token)).status, 400);
  const later = await signedIn(harness, own, helper);
  const path = `/api/organizations/${home.organization.id}/members/${member.user.uuid}/`;
  assert.equal((await home.ask('DELETE', path)).status, 204);
  assert.equal(await askWith(harness, later.access_token), 401);
  assert.equal((await renew(harness, helper, later.refresh_token)).status, 400);
});

test('the client, the person and an administrator can each end a grant', async () => {
  const member = await harness.newMember(home.organization.id, 1);
  const own = await harness.newSession(member.user);
  const revoke = (token: string, client_id = helper.client_id) =>
    sendForm(harness, '/oauth/revoke', { token, client_id });
  for (const kind of ['access_token', 'refresh_token'] as const) {
    const tokens = await signedIn(harness, own, helper);
    const stranger = (await newAssistant(harness)).client_id;
    assert.equal((await revoke(tokens[kind], stranger)).status, 200);
    assert.equal(await askWith(harness, tokens.access_token), 200);
    assert.equal((await revoke(tokens[kind])).status, 200);
    assert.equal(await askWith(harness, tokens.access_token), 401);
  }
  assert.equal((await revoke('unknown')).status, 200);

  const list = `/api/organizations/${home.organization.id}/personal_api_keys/`;
  const { access_token } = await signedIn(harness, own, helper);
  const { results } = (await home.ask('GET', list)).body;
  const grant = results.find(
    (one: { agent: object | null; user: { uuid: string } }) =>
      one.agent !== null && one.user.uuid === member.user.uuid,
  );
  const plain = results.find(({ agent }: { agent: object | null }) => agent === null);
  assert.equal((await home.ask('DELETE', `${list}${plain.id}/`)).status, 404);
  assert.equal((await member.ask('DELETE', `${list}${grant.id}/`)).status, 403);
  assert.equal((await home.ask('DELETE', `${list}${grant.id}/`)).status, 204);
  assert.equal(await askWith(harness, access_token), 401);

  const again = await signedIn(harness, own, helper);
  const mine = await harness.request('GET', '/api/personal_api_keys/', {
    headers: { cookie: own },
  });
  const { id } = mine.body.results.find(({ agent }: { agent: object | null }) => agent !== null);
  const one = `/api/personal_api_keys/${id}/`;
  assert.equal((await harness.request('DELETE', one, { headers: { cookie: own } })).status, 204);
  assert.equal(await askWith(harness, again.access_token), 401);
});

test('a second grant to a registered client replaces the first', async () => {
  const first = await signedIn(harness, cookie, helper);
  const second = await signedIn(harness, cookie, helper);
  assert.deepEqual(
    [await askWith(harness, first.access_token), await askWith(harness, second.access_token)],
    [401, 200],
  );
});

test('a client that nobody can describe is refused, and no inside address is asked', async () => {
  const ask = async (client_id: string) => {
    const { asked } = assistantOf(harness, client_id, callback, 'project:read');
    const { status, body } = await preview(asked);
    assert.deepEqual([status, body.attr], [400, 'client_id'], client_id);
    return body.detail as string;
  };
  assert.match(await ask('https://127.0.0.1/client.json'), /127\.0\.0\.1/);
  assert.match(await ask('https://169.254.169.254/latest'), /169\.254/);
  assert.match(await ask('https://ok.example/'), /https address with a path/);
  assert.match(await ask('https://ok.example/a/../client.json'), /https address with a path/);
  assert.match(await ask('https://user@ok.example/client.json'), /https address with a path/);
  assert.match(await ask('http://ok.example/client.json'), /does not know/);
});

test('a grant whose code nobody used is swept, and no other', async () => {
  const { db } = harness.deps;
  const used = await signedIn(harness, cookie, await newAssistant(harness));
  const unused = await newAssistant(harness);
  const code = codeIn(await letIn(harness, cookie, unused.asked));
  await sweepGrants(db, Date.now() + 30_000);
  await db.run(sql`UPDATE agent_grants SET code_expires_at = now() - interval '1 second'
    WHERE code_hash = ${harness.deps.secrets.hash(code)}`);
  assert.deepEqual(refusedWith(await redeem(harness, unused, code)), [400, 'invalid_grant']);
  await sweepGrants(db, Date.now());
  const left = await db.row(sql`SELECT 1 FROM agent_grants
    WHERE code_hash = ${harness.deps.secrets.hash(code)}`);
  assert.equal(left, undefined);
  assert.equal(await askWith(harness, used.access_token), 200);
});

test('10,000 registrations leave no row', { skip: only_deep }, async () => {
  const body = { redirect_uris: [callback] };
  const count = async () =>
    (await harness.deps.db.row<{ n: number }>(sql`SELECT (SELECT count(*) FROM agent_grants) +
      (SELECT count(*) FROM personal_api_keys) AS n`))!.n;
  const before_all = await count();
  const statuses = new Set<number>();
  for (let at = 0; at < 10_000; at += 1)
    statuses.add((await harness.request('POST', '/oauth/register', { body })).status);
  assert.deepEqual([...statuses], [201]);
  assert.equal(await count(), before_all);
});
