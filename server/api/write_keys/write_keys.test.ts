import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import { findWriteAccess } from './store.ts';

let now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

const teamOf = async (value: string) =>
  (await findWriteAccess(harness.deps.db, [value], now)).get(value)?.team_id;

async function newProject() {
  const home = await harness.newOrganization();
  const list = `/api/projects/${home.project.id}/write_keys/`;
  const ask = (method: string, path: string, body?: unknown) =>
    home.ask(method, `${list}${path}`, body);
  return { ...home, list, ask };
}

test('create, list, rename and revoke; the key opens its project until it is revoked', async () => {
  const { ask, project, organization } = await newProject();
  const created = await ask('POST', '', { name: ' Web shop ' });
  assert.equal(created.status, 201, created.text);
  const { id, value, name } = created.body;
  assert.equal(name, 'Web shop');
  assert.match(value, /^slp_[0-9A-Za-z]{43}$/);
  assert.equal(await teamOf(value), project.id);
  assert.equal(await teamOf(project.api_token), project.id);
  assert.deepEqual((await ask('GET', '')).body.results, [created.body]);
  const renamed = await ask('PATCH', `${id}/`, { name: 'App' });
  assert.deepEqual([renamed.status, renamed.body.name], [200, 'App']);
  assert.equal((await ask('DELETE', `${id}/`)).status, 204);
  assert.equal(await teamOf(value), undefined);
  assert.equal((await ask('GET', `${id}/`)).status, 404);
  const entries = await harness.deps.db.rows<{ activity: string }>(sql`
    SELECT activity FROM activity WHERE item_id = ${id} AND scope = 'write_key'
      AND organization_id = ${organization.id}::uuid ORDER BY created_at, id`);
  assert.deepEqual(
    entries.map(({ activity }) => activity),
    ['created', 'updated', 'deleted'],
  );
});

test('validate_only creates no key and shows none', async () => {
  const { ask } = await newProject();
  const { body: key } = await ask('POST', '', { name: 'Web' });
  for (const [path, sent] of [
    ['?validate_only=true', { name: 'Shop' }],
    [`${key.id}/roll/?validate_only=true`, {}],
  ] as const) {
    const { status, body } = await ask('POST', path, sent);
    assert.deepEqual([status, 'id' in body, 'value' in body], [200, true, false], path);
  }
  assert.deepEqual((await ask('GET', '')).body.results, [key]);
});

test('roll: the successor works at once, the old one until the overlap is over', async () => {
  const { ask, project } = await newProject();
  const { body: old } = await ask('POST', '', { name: 'Web' });
  const rolled = await ask('POST', `${old.id}/roll/`, { overlap_seconds: 60 });
  assert.equal(rolled.status, 201, rolled.text);
  assert.equal(rolled.body.name, 'Web');
  assert.notEqual(rolled.body.value, old.value);
  assert.equal(await teamOf(old.value), project.id);
  assert.equal((await ask('POST', `${old.id}/roll/`, {})).status, 409);
  now += 60_000;
  assert.equal(await teamOf(old.value), undefined);
  assert.equal(await teamOf(rolled.body.value), project.id);
  const again = await ask('POST', `${rolled.body.id}/roll/`, {});
  now += 604_799_000;
  assert.equal(await teamOf(rolled.body.value), project.id);
  now += 1_000;
  assert.equal(await teamOf(rolled.body.value), undefined);
  assert.equal(await teamOf(again.body.value), project.id);
});

test('a project has at most 100 keys that work; other projects do not see them', async () => {
  const { ask, project } = await newProject();
  await harness.deps.db.run(sql`
    INSERT INTO write_keys (id, team_id, name, value)
    SELECT gen_random_uuid(), ${project.id}, 'x', ${project.api_token} || n
      FROM generate_series(1, 99) n`);
  const answers = await Promise.all(['a', 'b'].map((name) => ask('POST', '', { name })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400]);
  const { id } = answers.find(({ status }) => status === 201)!.body;
  assert.equal((await ask('POST', `${id}/roll/`, {})).status, 400);
  assert.equal((await ask('POST', `${id}/roll/`, { overlap_seconds: 0 })).status, 201);
  const stranger = await newProject();
  assert.equal((await stranger.ask('GET', `${id}/`)).status, 404);
});

test('a write key opens nothing of the API, which says which key belongs there', async () => {
  const { project, list } = await newProject();
  const answer = await harness.request('GET', list, { key: project.api_token });
  assert.equal(answer.status, 401);
  assert.match(answer.body.detail, /write key .* personal API key \(slk_/);
});

test('an Idempotency-Key gives no answer about a project that the key does not reach', async () => {
  const { project, user, key } = await newProject();
  const { body: other } = await harness.request('POST', '/api/projects/', {
    key,
    body: { name: 'Other' },
  });
  const create = async (team_id: number) => {
    const limited = await harness.newKey(user, { scoped_teams: [team_id] });
    return harness.request('POST', '/api/projects/@current/write_keys/', {
      key: limited,
      body: { name: 'Web' },
      headers: { 'idempotency-key': 'deploy-1' },
    });
  };
  const first = await create(project.id);
  assert.equal(first.status, 201, first.text);
  assert.deepEqual((await create(project.id)).body, first.body);
  const second = await create(other.id);
  assert.deepEqual([second.status, second.body.code], [422, 'idempotency_mismatch']);
});
