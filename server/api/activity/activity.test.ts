import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

type Entry = Record<string, any>;
const urlOf = ({ organization }: TestOrganization) =>
  `/api/organizations/${organization.id}/activity/`;
const read = (home: TestOrganization, query = '', key = home.key) =>
  harness.request('GET', `${urlOf(home)}${query}`, { key });
const entries = async (home: TestOrganization, query = ''): Promise<Entry[]> => {
  const { status, body, text } = await read(home, query);
  assert.equal(status, 200, text);
  return body.results;
};
const rename = (
  home: TestOrganization,
  name: string,
  headers: Record<string, string> = { authorization: `Bearer ${home.key}` },
) => harness.request('PATCH', `/api/projects/${home.project.id}/`, { body: { name }, headers });
const keyOf = async (home: TestOrganization) =>
  (await harness.deps.db.row<{ id: string; mask_value: string }>(
    sql`SELECT id, mask_value FROM personal_api_keys WHERE user_id = ${home.user.id}`,
  ))!;

test('an entry says who did what to which thing, from where, and what it was before', async () => {
  const home = await harness.newOrganization();
  const answer = await rename(home, 'Shop', {
    authorization: `Bearer ${home.key}`,
    'x-request-id': 'request-of-the-test',
  });
  const [entry, ...others] = await entries(home);
  assert.equal(others.length, 0);
  const { id, created_at, hash, ...said } = entry!;
  assert.deepEqual(said, {
    number: 1,
    activity: 'updated',
    scope: 'project',
    item_id: String(home.project.id),
    item_name: 'Shop',
    changes: [{ field: 'name', action: 'changed', before: 'Default project', after: 'Shop' }],
    user: { uuid: home.user.uuid, email: home.user.email },
    key: await keyOf(home),
    key_name: null,
    session_id: null,
    ip: '127.0.0.1',
    request_id: 'request-of-the-test',
  });
  assert.equal(answer.headers['x-request-id'], 'request-of-the-test');
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.match(created_at, /^\d{4}-.*Z$/);
  assert.match(id, /^[0-9a-f-]{36}$/);
});

test('an entry made in a session names the session and no key', async () => {
  const home = await harness.newOrganization();
  const cookie = await harness.newSession(home.user);
  await rename(home, 'Shop', { cookie });
  const [entry] = await entries(home);
  const session = await harness.deps.db.row<{ id: string }>(
    sql`SELECT id FROM sessions WHERE user_id = ${home.user.id}`,
  );
  assert.deepEqual(
    [entry!['key'], entry!['session_id'], entry!['user'].uuid],
    [null, session!.id, home.user.uuid],
  );
});

test('the log has no refused request and no dry run', async () => {
  const home = await harness.newOrganization();
  const url = `/api/projects/${home.project.id}/`;
  for (const [path, body, status] of [
    [url, { name: '' }, 400],
    [`${url}?validate_only=true`, { name: 'x' }, 200],
    ['/api/projects/2147483647/', { name: 'x' }, 404],
  ] as const)
    assert.equal((await home.ask('PATCH', path, body)).status, status);
  assert.deepEqual(await entries(home), []);
});

test('pages follow the numbers and stay in place while entries are added', async () => {
  const home = await harness.newOrganization();
  for (let count = 1; count <= 5; count += 1) await rename(home, `N${count}`);
  const numbers = ({ body }: Answer) => body.results.map(({ number }: Entry) => number);
  const follow = (link: string) => home.ask('GET', link.replace(/^https?:\/\/[^/]+/, ''));
  const first = await read(home, '?limit=2&scope=project');
  await rename(home, 'N6');
  const second = await follow(first.body.next);
  const third = await follow(second.body.next);
  assert.deepEqual([first, second, third].map(numbers), [[5, 4], [3, 2], [1]]);
  assert.deepEqual([first.body.previous, third.body.next], [null, null]);
  assert.deepEqual(numbers(await follow(third.body.previous)), [3, 2]);
  assert.match(second.body.next, /scope=project/);
  assert.deepEqual(numbers(await read(home, '?ordering=number&limit=3')), [1, 2, 3]);
  const { created_at, id } = first.body.results[0];
  for (const broken of [
    'x',
    Buffer.from(JSON.stringify(['-number', created_at, id, false])).toString('base64url'),
    Buffer.from('["-number",1.5,"x",false]').toString('base64url'),
  ])
    assert.deepEqual([(await read(home, `?cursor=${broken}`)).status], [400], broken);
});

test('filters, alone and together', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newMember(home.organization.id, 8);
  await rename(home, 'one');
  await other.ask('PATCH', `/api/organizations/${home.organization.id}/`, { name: 'two' });
  const created = (
    await other.ask('POST', '/api/projects/', { name: 'three', organization: home.organization.id })
  ).body;
  await home.ask('DELETE', `/api/projects/${created.id}/`);
  const all = await entries(home, '?ordering=number');
  const [, second, third] = all.map(({ created_at }) => encodeURIComponent(created_at));
  const unknown = '01890000-0000-7000-8000-000000000000';
  const cases: [string, number[]][] = [
    ['', [1, 2, 3, 4]],
    [`user=${other.user.uuid}`, [2, 3]],
    [`user=${unknown}`, []],
    [`key=${(await keyOf(home)).id}`, [1, 4]],
    ['scope=project', [1, 3, 4]],
    ['scope=organization', [2]],
    ['scope=nothing', []],
    ['activity=deleted', [4]],
    [`item_id=${created.id}`, [3, 4]],
    [`after=${second}`, [2, 3, 4]],
    [`before=${third}`, [1, 2]],
    [`after=${second}&before=${third}`, [2]],
    ['after_number=0', [1, 2, 3, 4]],
    ['after_number=2', [3, 4]],
    ['after_number=1&activity=updated', [2]],
    ['after_number=9007199254740993', []],
    [`scope=project&user=${home.user.uuid}&activity=updated`, [1]],
    [`scope=project&after=${third}&item_id=${created.id}&activity=created`, [3]],
  ];
  for (const [query, expected] of cases)
    assert.deepEqual(
      (await entries(home, `?ordering=number&${query}`)).map(({ number }) => number),
      expected,
      query,
    );
});

test('wrong queries are 400 and name the parameter', async () => {
  const home = await harness.newOrganization();
  const cases: [string, string][] = [
    ['unknown=1', 'unknown'],
    ['user=x', 'user'],
    ['key=1', 'key'],
    ['scope=', 'scope'],
    [`item_id=${'x'.repeat(201)}`, 'item_id'],
    ['after=yesterday', 'after'],
    ['before=2030-01-01T00:00:00', 'before'],
    ['limit=0', 'limit'],
    ['after_number=-1', 'after_number'],
    ['after_number=1.5', 'after_number'],
    ['ordering=created_at', 'ordering'],
    ['format=csv', 'format'],
    ['user=x&user=y', 'user'],
    ['activity=%00', 'activity'],
    ['format=ndjson&limit=5', 'limit'],
    ['format=ndjson&cursor=x', 'cursor'],
  ];
  for (const [query, attr] of cases) {
    const answer = await read(home, `?${query}`);
    assert.deepEqual([answer.status, answer.body.attr], [400, attr], query);
  }
});

test('members with the scope read the log, administrators also foreign addresses', async () => {
  const home = await harness.newOrganization();
  const member = await harness.newMember(home.organization.id, 1);
  const administrator = await harness.newMember(home.organization.id, 8);
  const stranger = await harness.newOrganization();
  await rename(home, 'Shop');
  await member.ask('POST', `/api/projects/${home.project.id}/batch_exports/`, {
    name: 'x',
    interval: 'hour',
    destination: { type: 'NoOp', config: {} },
  });
  const addresses = async (key: string) =>
    (await read(home, '', key)).body.results.map(({ ip }: Entry) => ip);
  assert.deepEqual(await addresses(home.key), ['127.0.0.1', '127.0.0.1']);
  assert.deepEqual(await addresses(administrator.key), ['127.0.0.1', '127.0.0.1']);
  assert.deepEqual(await addresses(member.key), ['127.0.0.1', null]);
  assert.equal(
    (await read(home, '', await harness.newKey(home.user, { scopes: ['activity_log:read'] })))
      .status,
    200,
  );
  assert.equal(
    (
      await read(
        home,
        '',
        await harness.newKey(home.user, { scopes: ['organization:write', 'user:write'] }),
      )
    ).status,
    403,
  );
  assert.equal(
    (await read(home, '', await harness.newKey(home.user, { scoped_teams: [home.project.id] })))
      .status,
    404,
  );
  assert.equal((await read(home, '', stranger.key)).status, 404);
  assert.equal(
    (await home.ask('GET', '/api/organizations/@current/activity/')).body.results.length,
    2,
  );
  assert.equal((await home.ask('DELETE', urlOf(home))).status, 405);
});

test("a person's own log: what they did to keys, in no organization's log", async () => {
  const [home, other] = [await harness.newOrganization(), await harness.newOrganization()];
  const cookie = await harness.newSession(home.user);
  const created = (
    await harness.request('POST', '/api/personal_api_keys/', {
      headers: { cookie },
      body: { label: 'CI', scopes: ['user:read'] },
    })
  ).body;
  const own = await harness.request('GET', '/api/users/@me/activity/', { key: created.value });
  assert.deepEqual(
    own.body.results.map(({ number, activity, scope, item_name, ip }: Entry) => [
      number,
      activity,
      scope,
      item_name,
      ip,
    ]),
    [[1, 'created', 'personal_api_key', 'CI', '127.0.0.1']],
  );
  assert.deepEqual((await other.ask('GET', '/api/users/@me/activity/')).body.results, []);
  assert.deepEqual(await entries(home), []);
  assert.equal(
    (
      await harness.request('GET', '/api/users/@me/activity/', {
        key: await harness.newKey(home.user, { scopes: ['activity_log:read'] }),
      })
    ).status,
    403,
  );
});

test("a destination's password: masked on both sides, and nowhere in the table", async () => {
  const home = await harness.newOrganization();
  const [first, second] = ['pl4nted-first-word', 'pl4nted-second-word'];
  const config = (password: string) => ({
    user: 'writer',
    password,
    host: 'db.example.com',
    database: 'warehouse',
  });
  const base = `/api/projects/${home.project.id}/batch_exports/`;
  const created = await home.ask('POST', base, {
    name: 'P',
    interval: 'hour',
    destination: { type: 'Postgres', config: config(first) },
  });
  const patched = await home.ask('PATCH', `${base}${created.body.id}/`, {
    destination: { config: config(second) },
  });
  assert.equal(patched.status, 200, patched.text);
  const [change, creation] = (await entries(home)).map(({ changes }) =>
    changes.filter(({ field }: Entry) => field === 'destination.config.password'),
  );
  assert.deepEqual(change, [
    {
      field: 'destination.config.password',
      action: 'changed',
      before: '********',
      after: '********',
    },
  ]);
  assert.deepEqual(creation, [
    { field: 'destination.config.password', action: 'created', before: null, after: '********' },
  ]);
  const { rows } = await harness.deps.db.text(
    `SELECT count(*) AS found FROM activity a WHERE a::text LIKE '%pl4nted%'`,
  );
  assert.deepEqual(rows, [{ found: 0 }]);
});
