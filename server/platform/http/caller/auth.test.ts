import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../../test/eventually.ts';
import { openHarness } from '../../../../test/harness.ts';
import { createApiKey } from './api_key.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { addMember } from '../../../../test/factories/people/members.ts';

let now = Date.now();
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

const list = '/api/organizations/';

test('without a key, or with a header of another form, it is 401 not_authenticated', async () => {
  const { key } = await harness.newOrganization();
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Token ${key}`,
    key,
    `Bearer ${key} ${key}`,
  ]) {
    const answer = await harness.request(
      'GET',
      list,
      authorization === undefined ? {} : { headers: { authorization } },
    );
    assert.equal(answer.status, 401, authorization);
    assert.equal(answer.body.type, 'authentication_error');
    assert.equal(answer.body.code, 'not_authenticated');
    assert.equal(answer.headers['www-authenticate'], 'Bearer');
  }
  for (const scheme of ['bearer', 'BEARER'])
    assert.equal(
      (await harness.request('GET', list, { headers: { authorization: `${scheme} ${key}` } }))
        .status,
      200,
    );
  const spaced = await harness.request('GET', list, {
    headers: { authorization: `Bearer   ${key}  ` },
  });
  assert.equal(spaced.status, 200);
});

test('a key of the wrong form is refused without the database, unknown ones with it', async () => {
  const unknown = createApiKey();
  const wrongChecksum = unknown.slice(0, -1) + (unknown.endsWith('0') ? '1' : '0');
  for (const [key, statements] of [
    ['slk_short', 0],
    [wrongChecksum, 0],
    // The second one looks why it is refused, for the security log.
    [unknown, 2],
  ] as const) {
    const count = harness.deps.db.statementCount();
    const answer = await harness.request('GET', list, { key });
    assert.equal(answer.status, 401);
    assert.equal(answer.body.code, 'authentication_failed');
    assert.equal(harness.deps.db.statementCount() - count, statements);
  }
});

test('revoked keys, expired keys and those of inactive users are refused at once', async () => {
  const { user, key } = await harness.newOrganization();
  assert.equal((await harness.request('GET', list, { key })).status, 200);
  const expiring = await harness.newKey(user, { expires_at: new Date(now + 1000).toISOString() });
  assert.equal((await harness.request('GET', list, { key: expiring })).status, 200);
  now += 1000;
  assert.equal((await harness.request('GET', list, { key: expiring })).status, 401);
  const revoked = await harness.newKey(user);
  await harness.deps.db.run(
    sql`DELETE FROM personal_api_keys WHERE key_hash = ${harness.deps.secrets.hash(revoked)}`,
  );
  assert.equal((await harness.request('GET', list, { key: revoked })).status, 401);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${user.id}`);
  assert.equal((await harness.request('GET', list, { key })).status, 401);
});

test('last_used_at moves with use, at most once a minute', async () => {
  const { user, key } = await harness.newOrganization();
  const used = async () =>
    (
      await harness.deps.db.row<{ last_used_at: string | null }>(
        sql`SELECT last_used_at FROM personal_api_keys WHERE user_id = ${user.id}`,
      )
    )?.last_used_at ?? null;
  const usedAt = async (wanted: number) => {
    for (let tries = 0; tries < 2_000; tries += 1) {
      const found = await used();
      if (found !== null && Date.parse(found) === wanted) return;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    assert.fail('last_used_at did not move');
  };
  const first = now;
  await harness.request('GET', list, { key });
  await usedAt(first);
  now += 59_000;
  await harness.request('GET', list, { key });
  await harness.request('GET', list, { key });
  await usedAt(first);
  now += 1_000;
  await harness.request('GET', list, { key });
  await usedAt(first + 60_000);
});

test('a key tells from where it was used last, and a member when they were seen', async () => {
  const { user, organization, key } = await harness.newOrganization();
  const other = await harness.newMember(organization.id, 1);
  const cookie = await harness.newSession(other.user);
  const asks = (path: string, headers: Record<string, string>) =>
    harness.request('GET', path, { headers });
  const seen = () =>
    harness.deps.db.rows<{ last_seen_at: string | null }>(sql`SELECT last_seen_at FROM members
      WHERE organization_id = ${organization.id}::uuid ORDER BY level DESC`);
  // Asks for nothing of the organization, so that nobody is seen there.
  await asks(list, { authorization: `Bearer ${key}`, 'user-agent': `curl/8 ${'x'.repeat(500)}` });
  const used = () =>
    harness.deps.db.row<{ ip: string | null; agent: string | null }>(sql`
      SELECT last_used_ip AS ip, last_used_user_agent AS agent FROM personal_api_keys
      WHERE user_id = ${user.id}`);
  await eventually('The use is noted.', async () => (await used())!.ip !== null);
  assert.deepEqual(await used(), { ip: '127.0.0.1', agent: `curl/8 ${'x'.repeat(393)}` });
  assert.deepEqual(await seen(), [{ last_seen_at: null }, { last_seen_at: null }]);
  const first = now;
  await asks(`${list}${organization.id}/`, { cookie });
  const isSeen = (at: number) =>
    eventually('The member is seen.', async () => {
      const [, row] = await seen();
      return Date.parse(row!.last_seen_at ?? '') === at;
    });
  await isSeen(first);
  now += 59_000;
  await asks(`${list}${organization.id}/`, { cookie });
  now += 1_000;
  await asks(`${list}${organization.id}/`, { cookie });
  await isSeen(first + 60_000);
  const [owner] = await seen();
  assert.equal(owner!.last_seen_at, null);
});

test('a record takes one round trip to the database; several at once stay apart', async () => {
  const { organization, key } = await harness.newOrganization();
  const path = `/api/organizations/${organization.id}/`;
  await harness.request('GET', path, { key });
  await eventually('The use is noted.', async () => {
    const noted = await harness.deps.db.row(sql`
      SELECT 1 FROM members m JOIN personal_api_keys k ON k.user_id = m.user_id
      WHERE m.organization_id = ${organization.id}::uuid AND m.last_seen_at IS NOT NULL
        AND k.last_used_at IS NOT NULL`);
    return noted !== undefined;
  });
  const count = harness.deps.db.statementCount();
  await harness.request('GET', path, { key });
  assert.equal(harness.deps.db.statementCount() - count, 1);
  const other = await harness.newOrganization();
  const paths = [path, `/api/organizations/${other.organization.id}/`];
  const asked = [key, other.key].flatMap((one) => paths.map((of) => [of, one] as const));
  const statuses = await Promise.all(
    asked.map(async ([of, one]) => {
      const { status, body } = await harness.request('GET', of, { key: one });
      if (status === 200) assert.ok(of.includes(body.id));
      else assert.equal(body.id, undefined);
      return status;
    }),
  );
  assert.deepEqual(statuses, [200, 404, 404, 200]);
});

test('a scope is required, write includes read, * is all; the missing one is named', async () => {
  const cases: [string[], string, string, number][] = [
    [['organization:read'], 'GET', list, 200],
    [['organization:write'], 'GET', list, 200],
    [['*'], 'GET', list, 200],
    [['project:read'], 'GET', list, 403],
    [[], 'GET', list, 403],
    [['organization:read'], 'POST', list, 403],
    [['organization:write'], 'POST', list, 201],
    [['organization:write'], 'GET', '/api/projects/', 403],
  ];
  for (const [scopes, method, path, status] of cases) {
    const { key } = await harness.newOrganization({ scopes });
    const answer = await harness.request(method, path, {
      key,
      ...(method === 'POST' ? { body: { name: 'Another' } } : {}),
    });
    assert.equal(answer.status, status, `${scopes} ${method} ${path}`);
    if (status !== 403) continue;
    assert.equal(answer.body.code, 'permission_denied');
    assert.match(answer.body.detail, /(organization|project):(read|write)/);
  }
});

test('a key limited to organizations sees only those, also as @current, creates none', async () => {
  const one = await harness.newOrganization();
  const other = await harness.newOrganization();
  await addMember(harness.deps, other.organization.id, one.user, 15);
  const key = await harness.newKey(one.user, { scoped_organizations: [other.organization.id] });
  const listed = await harness.request('GET', list, { key });
  assert.deepEqual(
    listed.body.results.map((row: { id: string }) => row.id),
    [other.organization.id],
  );
  assert.equal(
    (await harness.request('GET', `${list}${one.organization.id}/`, { key })).status,
    404,
  );
  assert.equal(
    (await harness.request('GET', `${list}@current/`, { key })).body.id,
    other.organization.id,
  );
  assert.equal(
    (await harness.request('GET', `/api/projects/${one.project.id}/`, { key })).status,
    404,
  );
  assert.equal(
    (await harness.request('GET', '/api/projects/@current/', { key })).body.id,
    other.project.id,
  );
  assert.deepEqual(
    (await harness.request('GET', '/api/projects/', { key })).body.results.map(
      (row: { id: number }) => row.id,
    ),
    [other.project.id],
  );
  assert.equal((await harness.request('POST', list, { key, body: { name: 'New' } })).status, 403);
  assert.equal(
    (
      await harness.request('POST', '/api/projects/', {
        key,
        body: { name: 'New', organization: one.organization.id },
      })
    ).status,
    400,
  );
  assert.equal(
    (await harness.request('POST', '/api/projects/', { key, body: { name: 'New' } })).body
      .organization,
    other.organization.id,
  );
});

test('a key limited to projects sees only those, and nothing of their organizations', async () => {
  const { organization, user, key: full } = await harness.newOrganization();
  const second = (
    await harness.request('POST', '/api/projects/', { key: full, body: { name: 'Second' } })
  ).body;
  const key = await harness.newKey(user, { scoped_teams: [second.id] });
  assert.deepEqual(
    (await harness.request('GET', '/api/projects/', { key })).body.results.map(
      (row: { id: number }) => row.id,
    ),
    [second.id],
  );
  assert.equal((await harness.request('GET', `/api/projects/${second.id}/`, { key })).status, 200);
  assert.equal(
    (await harness.request('GET', '/api/projects/@current/', { key })).body.id,
    second.id,
  );
  assert.equal(
    (await harness.request('GET', `/api/projects/${organization.teams[0]!['id']}/`, { key }))
      .status,
    404,
  );
  assert.equal((await harness.request('GET', `${list}${organization.id}/`, { key })).status, 404);
  assert.equal((await harness.request('GET', `${list}@current/`, { key })).status, 404);
  assert.deepEqual((await harness.request('GET', list, { key })).body.results, []);
  assert.equal((await harness.request('POST', list, { key, body: { name: 'New' } })).status, 403);
  assert.equal(
    (await harness.request('POST', '/api/projects/', { key, body: { name: 'New' } })).status,
    403,
  );
});

test('a changed or removed level counts on the next request', async () => {
  const { organization, user, key } = await harness.newOrganization({ level: 8 });
  const rename = () =>
    harness.request('PATCH', `${list}${organization.id}/`, { key, body: { name: 'Renamed' } });
  assert.equal((await rename()).status, 200);
  await harness.deps.db.run(sql`UPDATE members SET level = 1 WHERE user_id = ${user.id}`);
  assert.equal((await rename()).status, 403);
  await harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${user.id}`);
  assert.equal((await rename()).status, 404);
});
