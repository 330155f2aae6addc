import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { eventually } from '../../../../test/eventually.ts';
import { newDirectory, patchOf } from '../../../../test/factories/people/directories.ts';
import type { TestDirectory } from '../../../../test/factories/people/directories.ts';
import { openDomainWorld } from '../../../../test/factories/people/domains.ts';
import type { Harness } from '../../../../test/harness.ts';
import { endTokens } from './chores.ts';

let harness: Harness;
const world = aroundTests(openDomainWorld, async (opened) => {
  harness = opened.harness;
});

const day_ms = 24 * 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();
const security = { scopes: ['organization_security:write'] };
const works = async (own: TestDirectory, token = own.token) =>
  (await own.scim('GET', '/Users', undefined, token)).status === 200;
const create = (own: TestDirectory, key: string, body: object = { name: 'Next' }) =>
  harness.request('POST', `${own.url}tokens/`, { key, body });
/** Another owner, and a token of theirs. */
async function withMaker(own: TestDirectory) {
  const maker = await harness.newMember(own.organization.id, 15);
  const { status, body } = await create(own, maker.key, { name: 'Of the second owner' });
  assert.equal(status, 201);
  return { maker, token: body.token as string, path: `${own.url}tokens/${body.id}/` };
}

test('a token has a name, a maker and an end, and is shown once', async () => {
  const own = await newDirectory(harness);
  const now = world.now();
  const created = await create(own, own.key, { name: ' Okta ', expires_at: at(now + day_ms) });
  assert.equal(created.status, 201, created.text);
  const { token, base_url, ...shown } = created.body;
  assert.match(token, /^slc_[0-9A-Za-z]{43}$/);
  assert.equal(base_url, `${harness.deps.config.public_url}/scim/v2/${own.domain.id}`);
  assert.match(shown.mask_value, /^slc_\.\.\.\w{4}$/);
  assert.deepEqual(
    [shown.name, shown.created_by.email, Date.parse(shown.expires_at), shown.last_used_at],
    ['Okta', own.user.email, now + day_ms, null],
  );
  const { body: list } = await own.ask('GET', `${own.url}tokens/`);
  assert.deepEqual([list.count, list.results[0]], [2, shown]);
  // Without an end of its own it works for a year.
  assert.equal(Date.parse(list.results[1].expires_at), now + 365 * day_ms);
  assert.ok(await works(own, token));
  const used_at = await eventually('The use of the token was not noted.', async () => {
    const { body: used } = await own.ask('GET', `${own.url}tokens/${shown.id}/`);
    return used.last_used_at ?? undefined;
  });
  assert.equal(Date.parse(used_at), now);
  assert.deepEqual(await own.entries(1), ['created scim_token Okta']);
  const [told] = await world.mailed(own.user.email, 'token was created', 1);
  assert.match(told!.content.text!, new RegExp(`${own.user.email} created the token “`));
});

test('two tokens work at a time, so that one is replaced without a gap', async () => {
  const own = await newDirectory(harness);
  const tried = await own.ask('POST', `${own.url}tokens/?validate_only=true`, { name: 'Next' });
  assert.deepEqual([tried.status, tried.body.token], [200, undefined]);
  const next = await create(own, own.key);
  assert.deepEqual([await works(own), await works(own, next.body.token)], [true, true]);
  const third = await create(own, own.key);
  assert.deepEqual([third.status, third.body.code], [400, 'max_items']);
  const path = `${own.url}tokens/${own.token_id}/`;
  assert.equal((await own.ask('DELETE', path)).status, 204);
  assert.equal((await own.ask('DELETE', path)).status, 404);
  assert.deepEqual([await works(own), await works(own, next.body.token)], [false, true]);
  assert.equal((await create(own, own.key)).status, 201);
  await world.mailed(own.user.email, 'token of', 1);
  // Two tokens that are created at once exceed the limit by one.
  await own.ask('DELETE', `${own.url}tokens/${next.body.id}/`);
  const both = await Promise.all([create(own, own.key), create(own, own.key)]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 400]);
});

test('a token ends in two years at most', async () => {
  const own = await newDirectory(harness);
  const now = world.now();
  for (const [body, attr] of [
    [{ name: 'x', expires_at: at(now) }, 'expires_at'],
    [{ name: 'x', expires_at: at(now + 731 * day_ms + 1) }, 'expires_at'],
    [{ name: 'x', expires_at: null }, 'expires_at'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{}, 'name'],
  ] as const) {
    const answer = await create(own, own.key, body);
    assert.deepEqual([answer.status, answer.body.attr], [400, attr], JSON.stringify(body));
  }
  const last = await create(own, own.key, { name: 'x', expires_at: at(now + 731 * day_ms) });
  assert.equal(last.status, 201, last.text);
  await own.ask('DELETE', `${own.url}tokens/${last.body.id}/`);
  const soon = await create(own, own.key, { name: 'x', expires_at: at(now + 1_000) });
  assert.ok(await works(own, soon.body.token));
  world.goTo(now + 1_000);
  assert.ok(!(await works(own, soon.body.token)));
  // It is listed until the next one takes its place.
  assert.equal((await own.ask('GET', `${own.url}tokens/`)).body.count, 2);
  assert.equal((await own.ask('GET', own.url)).body.token_count, 1);
  assert.equal((await create(own, own.key)).status, 201);
  assert.equal((await own.ask('GET', `${own.url}tokens/${soon.body.id}/`)).status, 404);
});

test('tokens take an owner who confirmed who they are, or a key of security (P-02 b)', async () => {
  const own = await newDirectory(harness);
  const { url } = own;
  const group = (await own.scim('POST', '/Groups', { displayName: 'Staff' })).body.id;
  const administrator = await harness.newMember(own.organization.id, 8);
  const narrow = await harness.newKey(own.user, { scopes: ['organization:write'] });
  const cookie = await harness.newSession(own.user);
  const changes = [
    ['POST', `${url}tokens/`, { name: 'x' }],
    ['DELETE', `${url}tokens/${own.token_id}/`, undefined],
    ['PATCH', url, { may_manage_owners: true }],
    ['PUT', url, { may_manage_owners: true }],
    ['PATCH', `${url}groups/${group}/`, { level: 8 }],
    ['PUT', `${url}groups/${group}/`, { level: 8 }],
    ['DELETE', url, undefined],
  ] as const;
  const confirm = (when: number, method = 'password') =>
    harness.deps.db.run(sql`UPDATE sessions SET method = ${method}, domain_id = ${own.domain.id},
      own_factor_at = ${method === 'saml' ? null : at(when)}::timestamptz
      WHERE user_id = ${own.user.id}`);
  for (const [method, path, body] of changes) {
    const ask = async (sent: object) => {
      const { status, body: said } = await harness.request(method, path, { body, ...sent });
      return `${status} ${said.code} ${said.detail}`;
    };
    const said = `${method} ${path}`;
    assert.match(await ask({ key: administrator.key }), /^403 .* level 15/, said);
    assert.match(await ask({ key: narrow }), /^403 .* scope organization_security:write/, said);
    for (const way of ['password', 'saml']) {
      await confirm(world.now() - 601_000, way);
      assert.match(await ask({ headers: { cookie } }), /^403 own_factor_required/, said);
    }
    const member = await harness.newKey(administrator.user, security);
    assert.match(await ask({ key: member }), /^403 .* level 15/, said);
  }
  assert.ok(await works(own));
  await confirm(world.now() - 599_000);
  const headers = { cookie };
  const body = { name: 'By session' };
  assert.equal((await harness.request('POST', `${url}tokens/`, { headers, body })).status, 201);
  const key = await harness.newKey(own.user, security);
  const off = await harness.request('DELETE', url, { key });
  assert.equal(off.status, 204);
  await world.mailed(own.user.email, 'was switched off', 1);
});

test('a token ends with the right of its maker (P-02 c)', async () => {
  const ends: [
    string,
    (own: TestDirectory, maker: { user: { id: number; uuid: string } }) => Promise<unknown>,
  ][] = [
    ['lowered', (own, { user }) => own.ask('PATCH', memberPath(own, user), { level: 8 })],
    ['removed', (own, { user }) => own.ask('DELETE', memberPath(own, user))],
    [
      'deactivated',
      (_, { user }) =>
        harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`),
    ],
    ['deleted', (_, { user }) => harness.deps.db.run(sql`DELETE FROM users WHERE id = ${user.id}`)],
  ];
  for (const [how, end] of ends) {
    const own = await newDirectory(harness);
    const { maker, token, path } = await withMaker(own);
    await endTokens(harness.deps);
    assert.ok(await works(own, token), how);
    await end(own, maker);
    assert.ok(!(await works(own, token)), how);
    assert.equal((await own.ask('GET', path)).status, 404, how);
    assert.ok(await works(own), how);
    const counts = await Promise.all([endTokens(harness.deps), endTokens(harness.deps)]);
    assert.equal(counts[0] + counts[1], 1, how);
    assert.deepEqual(await own.entries(1), ['ended scim_token Of the second owner'], how);
    const [told] = await world.mailed(own.user.email, 'has ended', 1);
    const who = how === 'deleted' ? 'The person who created it' : maker.user.email;
    assert.match(told!.content.text!, new RegExp(`${who} is no longer an active owner`), how);
    // Whoever is an owner again finds it gone.
    await harness.deps.db.run(sql`UPDATE members SET level = 15 WHERE user_id = ${maker.user.id}`);
    assert.ok(!(await works(own, token)), how);
  }
});

const memberPath = (own: TestDirectory, user: { uuid: string }) =>
  `/api/organizations/${own.organization.id}/members/${user.uuid}/`;

test('owners learn beforehand how many tokens end with a person', async () => {
  const own = await newDirectory(harness);
  const { maker } = await withMaker(own);
  const { body } = await own.ask('GET', memberPath(own, maker.user).replace(/[^/]+\/$/, ''));
  const counts = body.results.map((one: any) => [one.user.email, one.directory_token_count]);
  assert.deepEqual(Object.fromEntries(counts), { [maker.user.email]: 1, [own.user.email]: 1 });
  const tried = await own.ask('PATCH', `${memberPath(own, maker.user)}?validate_only=true`, {
    level: 8,
  });
  assert.deepEqual([tried.status, tried.body.directory_token_count], [200, 1]);
  // In another organization they made none.
  const other = await newDirectory(harness);
  await harness.deps.db.run(sql`INSERT INTO members (id, organization_id, user_id, level)
    VALUES (gen_random_uuid(), ${other.organization.id}::uuid, ${maker.user.id}, 15)`);
  const there = await other.ask('PATCH', `${memberPath(other, maker.user)}?validate_only=true`, {});
  assert.equal(there.body.directory_token_count, 0);
});

test('a change that waits for the end of its token changes nothing', async () => {
  const own = await newDirectory(harness);
  const { maker, token } = await withMaker(own);
  const { id } = await own.provision('ada');
  const body = patchOf({ op: 'replace', value: { active: false } });
  const { asked } = await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM organizations WHERE id = ${own.organization.id}::uuid
      FOR NO KEY UPDATE`);
    await tx.run(sql`UPDATE members SET level = 8 WHERE user_id = ${maker.user.id}`);
    const waiting = own.scim('PATCH', `/Users/${id}`, body, token);
    // The request has passed the first check once it waits for the lock.
    while (
      (await harness.deps.db.row(sql`SELECT 1 FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND query LIKE '%FROM organizations%'`)) === undefined
    );
    return { asked: waiting };
  });
  assert.equal((await asked).status, 401);
  assert.equal(await own.levelOf(`ada@${own.domain.domain}`), 1);
});

test('a token of before works, is named so, and never manages owners', async () => {
  const own = await newDirectory(harness);
  const { db, secrets } = harness.deps;
  const old = `slc_${'b'.repeat(43)}`;
  // Stores a token the way the previous release does for "another token".
  const hash = secrets.hash(`scim token ${old}`);
  await db.run(sql`UPDATE scim_directories SET token_hash = ${hash}, mask_value = 'slc_...bbbb',
    token_created_at = ${at(world.now())}::timestamptz WHERE domain_id = ${own.domain.id}::uuid`);
  assert.deepEqual([await works(own), await works(own, old)], [false, true]);
  await endTokens(harness.deps);
  assert.ok(await works(own, old));
  const { body } = await own.ask('GET', `${own.url}tokens/`);
  const [{ id, name, created_by, expires_at }] = body.results;
  assert.deepEqual(
    [body.count, name, created_by, Date.parse(expires_at)],
    [1, 'Made before tokens had a maker', null, world.now() + 365 * day_ms],
  );
  const { user } = await harness.newMember(own.organization.id, 15);
  await db.run(sql`UPDATE users SET email = ${`boss@${own.domain.domain}`} WHERE id = ${user.id}`);
  await own.ask('PATCH', own.url, { may_manage_owners: true });
  const refused = await own.scim('DELETE', `/Users/${user.uuid}`, undefined, old);
  assert.equal(refused.status, 403, refused.text);
  const next = await create(own, own.key);
  await own.ask('DELETE', `${own.url}tokens/${id}/`);
  // Nor does a process of the release before take it any longer.
  const row = await db.row(sql`SELECT token_hash FROM scim_directories
    WHERE domain_id = ${own.domain.id}::uuid`);
  assert.deepEqual([row, await works(own, old)], [{ token_hash: null }, false]);
  const done = await own.scim('DELETE', `/Users/${user.uuid}`, undefined, next.body.token);
  assert.equal(done.status, 204, done.text);
  await world.mailed(`boss@${own.domain.domain}`, 'removed an owner', 1);
});
