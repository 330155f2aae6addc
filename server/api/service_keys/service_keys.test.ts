import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { eventually } from '../../../test/eventually.ts';
import { newPerson } from '../../../test/factories/people/signed_in.ts';
import type { Person } from '../../../test/factories/people/signed_in.ts';
import { openHarness } from '../../../test/harness.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';
import { isWellFormedApiKey } from '../../platform/http/caller/api_key.ts';

let now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);
const day_ms = 86_400_000;
const at = (ms: number) => new Date(ms).toISOString();
const listOf = ({ organization }: Person) => `/api/organizations/${organization.id}/service_keys/`;

async function created(
  person: Person,
  fields: Record<string, unknown> = {},
): Promise<Record<string, any>> {
  const answer = await person.ask('POST', listOf(person), {
    name: 'Loader',
    scopes: ['project:read'],
    ...fields,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

const statusOf = async (key: string, path = '/api/projects/') =>
  (await harness.request('GET', path, { key })).status;

test('a service key is created, shown once, listed, and works with its scopes', async () => {
  const person = await newPerson(harness);
  const { value, ...record } = await created(person, {
    name: ' Loader ',
    scopes: ['project:read', 'batch_export:write'],
    expires_at: '2030-06-01T12:00:00+02:00',
  });
  assert.ok(value.startsWith('slv_') && isWellFormedApiKey(value));
  const { created_by, created_at, id, ...plain } = record;
  assert.deepEqual(plain, {
    name: 'Loader',
    mask_value: `slv_...${value.slice(-4)}`,
    level: 1,
    scopes: ['project:read', 'batch_export:write'],
    scoped_teams: [],
    allowed_ip_ranges: [],
    expires_at: '2030-06-01T10:00:00.000000Z',
    last_used_at: null,
    last_used_ip: null,
    last_used_user_agent: null,
    is_creator_administrator: true,
  });
  assert.equal(created_by.uuid, person.user.uuid);
  assert.ok(created_at !== null);
  assert.deepEqual((await person.ask('GET', `${listOf(person)}${id}/`)).body, record);
  const { body: page } = await person.ask('GET', listOf(person));
  assert.deepEqual([page.count, page.results], [1, [record]]);
  const { body: projects } = await harness.request('GET', '/api/projects/', { key: value });
  assert.deepEqual(
    projects.results.map((one: { id: number }) => one.id),
    [person.project.id],
  );
  assert.equal(await statusOf(value, `/api/organizations/${person.organization.id}/`), 403);
  const row = await harness.deps.db.row<{ key_hash: Buffer }>(
    sql`SELECT key_hash FROM service_keys WHERE id = ${id}::uuid`,
  );
  assert.deepEqual(row!.key_hash, harness.deps.secrets.hash(value));
  await eventually('its use is not noted', async () => {
    const { last_used_at } = (await person.ask('GET', `${listOf(person)}${id}/`)).body;
    return last_used_at !== null;
  });
});

test('@current: a service key learns about itself, and no other credential does', async () => {
  const person = await newPerson(harness);
  const { value, ...record } = await created(person, { scopes: ['event:write'] });
  const path = '/api/service_keys/@current/';
  const { body } = await harness.request('GET', path, { key: value });
  assert.deepEqual(
    { ...body, last_used_at: null, last_used_ip: null, last_used_user_agent: null },
    { ...record, organization_id: person.organization.id },
  );
  assert.equal(await statusOf(value, '/api/personal_api_keys/@current/'), 404);
  assert.equal(await statusOf(person.key, path), 404);
  assert.equal((await person.ask('GET', path)).status, 404);
});

test('wrong bodies name each field', async () => {
  const person = await newPerson(harness);
  const stranger = await newPerson(harness);
  const post = (body: unknown) => person.ask('POST', listOf(person), body);
  assert.deepEqual(faultsOf(await post({})), ['name required', 'scopes required']);
  const wrong = await post({
    name: '',
    level: 15,
    scopes: ['*', 'user:read', 'organization_member:write', 'project:read', 'project:read'],
    scoped_teams: [person.project.id, stranger.project.id, 0],
    allowed_ip_ranges: ['10.0.0.0/99'],
    expires_at: '2020-01-01T00:00:00Z',
  });
  assert.deepEqual(
    faultsOf(wrong).toSorted(),
    [
      'name blank',
      'level invalid_choice',
      'scopes__0 invalid_choice',
      'scopes__1 invalid_choice',
      'scopes__2 invalid_choice',
      'scopes__4 unique',
      'scoped_teams__1 invalid_choice',
      'scoped_teams__2 min_value',
      'allowed_ip_ranges__0 invalid_input',
      'expires_at invalid_input',
    ].toSorted(),
  );
});

test('a key is changed, rotated with an overlap, and revoked; each counts at once', async () => {
  const person = await newPerson(harness);
  const first = await created(person, { allowed_ip_ranges: ['127.0.0.0/8'], level: 8 });
  const one = `${listOf(person)}${first['id']}/`;
  const scopes = ['organization:read'];
  const patched = await person.ask('PATCH', one, { scopes, allowed_ip_ranges: ['10.0.0.1'] });
  assert.deepEqual([patched.body.scopes, patched.body.level], [scopes, 8]);
  assert.equal(await statusOf(first['value'], '/api/organizations/'), 403, 'its address');
  assert.equal((await person.ask('PATCH', one, { allowed_ip_ranges: [] })).status, 200);
  assert.equal(await statusOf(first['value'], '/api/organizations/'), 200);
  assert.deepEqual(faultsOf(await person.ask('PUT', one, {})), [
    'name required',
    'scopes required',
  ]);
  const { body: next } = await person.ask('POST', `${one}roll/`, { overlap_seconds: 60 });
  assert.deepEqual(
    [next.name, next.level, next.scopes, next.expires_at],
    ['Loader', 8, scopes, null],
  );
  for (const key of [first['value'], next.value])
    assert.equal(await statusOf(key, '/api/organizations/'), 200);
  assert.equal((await person.ask('POST', `${one}roll/`)).status, 409);
  assert.equal((await person.ask('PATCH', one, { expires_at: null })).status, 409);
  now += 60_000;
  assert.equal(await statusOf(first['value'], '/api/organizations/'), 401);
  assert.equal((await person.ask('PATCH', one, { expires_at: at(now + day_ms) })).status, 409);
  const next_url = `${listOf(person)}${next.id}/`;
  const tag = (await person.ask('GET', next_url)).headers['etag']!;
  await person.ask('PATCH', next_url, { name: 'Other' });
  assert.equal((await person.ask('DELETE', next_url, undefined, { 'if-match': tag })).status, 412);
  assert.equal((await person.ask('DELETE', next_url)).status, 204);
  assert.equal(await statusOf(next.value, '/api/organizations/'), 401);
});

test('the log names the person who made a key, and the key in what it does', async () => {
  const person = await newPerson(harness);
  const { value, id } = await created(person, { scopes: ['project:write'], level: 8 });
  const project = `/api/projects/${person.project.id}/`;
  const changed = await harness.request('PATCH', project, { key: value, body: { name: 'New' } });
  assert.equal(changed.status, 200, changed.text);
  const log = `/api/organizations/${person.organization.id}/activity/`;
  const entryOf = async () => (await person.ask('GET', `${log}?key=${id}`)).body.results;
  const [entry, ...others] = await entryOf();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [entry.activity, entry.scope, entry.user, entry.session_id, entry.key, entry.key_name],
    ['updated', 'project', null, null, { id, mask_value: `slv_...${value.slice(-4)}` }, 'Loader'],
  );
  await person.ask('PATCH', `${listOf(person)}${id}/`, { name: 'Renamed' });
  await person.ask('DELETE', `${listOf(person)}${id}/`);
  assert.equal((await entryOf())[0].key_name, 'Renamed', 'a revoked key keeps its name');
  const { body } = await person.ask('GET', `${log}?scope=service_key`);
  assert.deepEqual(
    body.results.map((one: { activity: string; user: { uuid: string } }) => [
      one.activity,
      one.user.uuid,
    ]),
    ['deleted', 'updated', 'created'].map((activity) => [activity, person.user.uuid]),
  );
  assert.ok(!JSON.stringify(body).includes(value));
});

test('validate_only creates no key; a repeat returns the created one', async () => {
  const person = await newPerson(harness);
  const body = { name: 'CI', scopes: ['project:read'] };
  const checked = await person.ask('POST', `${listOf(person)}?validate_only=true`, body);
  assert.deepEqual([checked.status, 'value' in checked.body], [200, false]);
  const first = await person.ask('POST', listOf(person), body, { 'idempotency-key': 'one' });
  const second = await person.ask('POST', listOf(person), body, { 'idempotency-key': 'one' });
  assert.deepEqual(second.body, first.body);
  assert.equal((await person.ask('GET', listOf(person))).body.count, 1);
});

test('an organization has at most 100 keys that work', async () => {
  const person = await newPerson(harness);
  const { id } = await created(person);
  await harness.deps.db.run(sql`
    INSERT INTO service_keys (id, organization_id, name, key_hash, mask_value, level, scopes)
    SELECT gen_random_uuid(), organization_id, name, sha256(n::text::bytea || id::text::bytea),
      mask_value, 1, scopes FROM service_keys, generate_series(1, 99) n WHERE id = ${id}::uuid`);
  const body = { name: 'One more', scopes: ['project:read'] };
  assert.deepEqual(faultsOf(await person.ask('POST', listOf(person), body)), [' max_items']);
});

test('repeats with an Idempotency-Key of a service key do the work once', async () => {
  const person = await newPerson(harness);
  const { value: key } = await created(person, { scopes: ['project:write'], level: 8 });
  const { value: other } = await created(person, { scopes: ['project:write'], level: 8 });
  const post = (by: string, name: string) =>
    harness.request('POST', '/api/projects/', {
      key: by,
      headers: { 'idempotency-key': 'same' },
      body: { name },
    });
  const first = await post(key, 'A');
  assert.equal(first.status, 201, first.text);
  const again = await post(key, 'A');
  assert.deepEqual(
    [again.status, again.body.id, again.headers['idempotent-replayed']],
    [201, first.body.id, 'true'],
  );
  assert.equal((await post(key, 'B')).status, 422);
  const theirs = await post(other, 'A');
  assert.notEqual(theirs.body.id, first.body.id, 'each key has its own');
});
