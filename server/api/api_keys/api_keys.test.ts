import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import {
  createKey,
  newPerson,
  list_of_keys as list,
} from '../../../test/factories/people/signed_in.ts';
import { isWellFormedApiKey } from '../../platform/http/caller/api_key.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const day_ms = 86_400_000;

const now = Date.parse('2030-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

const at = (ms: number) => new Date(ms).toISOString();
const statusOf = async (key: string, path = '/api/projects/') =>
  (await harness.request('GET', path, { key })).status;

test('a key is created, shown once, and works with its scopes', async () => {
  const person = await newPerson(harness);
  const { value, ...created } = await createKey(person, {
    label: ' CI ',
    scopes: ['project:read', 'event:write'],
    expires_at: '2030-06-01T12:00:00+02:00',
  });
  assert.ok(isWellFormedApiKey(value));
  assert.deepEqual(
    { ...created, id: '', created_at: '' },
    {
      id: '',
      label: 'CI',
      mask_value: `slk_...${value.slice(-4)}`,
      scopes: ['project:read', 'event:write'],
      scoped_organizations: [],
      scoped_teams: [],
      allowed_ip_ranges: [],
      expires_at: '2030-06-01T10:00:00.000000Z',
      last_used_at: null,
      last_used_ip: null,
      last_used_user_agent: null,
      created_at: '',
      agent: null,
    },
  );
  const read = await person.ask('GET', `${list}${created.id}/`);
  assert.deepEqual(read.body, created);
  assert.equal(await statusOf(value), 200);
  assert.equal(await statusOf(value, '/api/organizations/'), 403);
  const row = await harness.deps.db.row<{ key_hash: Buffer }>(
    sql`SELECT key_hash FROM personal_api_keys WHERE id = ${created.id}::uuid`,
  );
  assert.deepEqual(row!.key_hash, harness.deps.secrets.hash(value));
});

test('the list has the own keys, newest first, in pages', async () => {
  const person = await newPerson(harness);
  const created = [];
  for (const label of ['one', 'two', 'three']) created.push(await createKey(person, { label }));
  const { body } = await person.ask('GET', `${list}?limit=3`);
  assert.deepEqual(
    [body.count, body.results.map((key: { label: string }) => key.label)],
    [4, ['three', 'two', 'one']],
  );
  assert.ok(!('value' in body.results[0]));
  assert.deepEqual(
    (await person.ask('GET', `${list}?limit=3&offset=3`)).body.results.map(
      (key: { label: string }) => key.label,
    ),
    ['test'],
  );
});

test('a foreign key, an unknown one and a faulty id are the same 404', async () => {
  const [person, other] = [await newPerson(harness), await newPerson(harness)];
  const foreign = await createKey(other);
  for (const id of [foreign.id, '01890000-0000-7000-8000-000000000000', 'x', '@me', '1']) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', 'roll/'],
    ] as const) {
      const answer = await person.ask(
        method,
        `${list}${id}/${path}`,
        method === 'GET' ? undefined : 'broken json',
      );
      assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'], `${method} ${id}`);
    }
  }
  assert.equal(await statusOf(foreign.value), 200);
});

test('a key can neither create keys nor see them; without credentials it is 401', async () => {
  const person = await newPerson(harness);
  const { id } = await createKey(person);
  const key = await harness.newKey(person.user, { scopes: ['*'] });
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', `${id}/`],
    ['PATCH', `${id}/`],
    ['PUT', `${id}/`],
    ['DELETE', `${id}/`],
    ['POST', `${id}/roll/`],
  ] as const) {
    const body = method === 'GET' ? {} : { body: { label: 'x', scopes: ['*'] } };
    const refused = await harness.request(method, `${list}${path}`, { key, ...body });
    assert.deepEqual(
      [refused.status, refused.body.code],
      [403, 'permission_denied'],
      `${method} ${path}`,
    );
    assert.equal((await harness.request(method, `${list}${path}`, body)).status, 401);
  }
  const crossSite = await person.ask(
    'POST',
    list,
    { label: 'x', scopes: ['*'] },
    { 'sec-fetch-site': 'cross-site' },
  );
  assert.equal(crossSite.status, 403);
});

test('PATCH changes what is sent, PUT needs label and scopes, at the next request', async () => {
  const person = await newPerson(harness);
  const { value, ...created } = await createKey(person, { expires_at: at(now + day_ms) });
  const url = `${list}${created.id}/`;
  const patched = await person.ask('PATCH', url, { label: 'New' });
  assert.deepEqual(patched.body, { ...created, label: 'New' });
  await person.ask('PATCH', url, { scopes: ['organization:read'] });
  assert.deepEqual(
    [await statusOf(value), await statusOf(value, '/api/organizations/')],
    [403, 200],
  );
  const limited = await person.ask('PATCH', url, {
    scopes: ['*'],
    scoped_organizations: [person.organization.id],
    scoped_teams: [person.project.id],
    expires_at: null,
  });
  assert.deepEqual(
    [limited.body.scoped_organizations, limited.body.scoped_teams, limited.body.expires_at],
    [[person.organization.id], [person.project.id], null],
  );
  assert.deepEqual(
    [
      await statusOf(value, `/api/projects/${person.project.id}/`),
      await statusOf(value, `/api/organizations/${person.organization.id}/`),
    ],
    [200, 404],
  );
  assert.deepEqual(faultsOf(await person.ask('PUT', url, {})), [
    'label required',
    'scopes required',
  ]);
  const put = await person.ask('PUT', url, {
    label: 'Put',
    scopes: ['*'],
    scoped_teams: [],
    scoped_organizations: [],
  });
  assert.deepEqual([put.body.label, put.body.scoped_teams], ['Put', []]);
  assert.equal(await statusOf(value, `/api/organizations/${person.organization.id}/`), 200);
  assert.deepEqual((await person.ask('PATCH', url, {})).body.label, 'Put');
});

test('a stale If-Match is 412 on change and delete', async () => {
  const person = await newPerson(harness);
  const { id } = await createKey(person);
  const url = `${list}${id}/`;
  const tag = (await person.ask('GET', url)).headers['etag']!;
  assert.equal((await person.ask('GET', url, undefined, { 'if-none-match': tag })).status, 304);
  assert.equal((await person.ask('PATCH', url, { label: 'New' }, { 'if-match': tag })).status, 200);
  for (const method of ['PATCH', 'PUT', 'DELETE'])
    assert.equal(
      (await person.ask(method, url, { label: 'x', scopes: ['*'] }, { 'if-match': tag })).status,
      412,
    );
});

test('validate_only creates no key and shows none; a repeat returns the created one', async () => {
  const person = await newPerson(harness);
  const body = { label: 'CI', scopes: ['*'] };
  const checked = await person.ask('POST', `${list}?validate_only=true`, body);
  assert.deepEqual([checked.status, 'value' in checked.body], [200, false]);
  const first = await person.ask('POST', list, body, { 'idempotency-key': 'one' });
  const second = await person.ask('POST', list, body, { 'idempotency-key': 'one' });
  assert.deepEqual(
    [second.status, second.headers['idempotent-replayed'], second.body],
    [201, 'true', first.body],
  );
  assert.equal((await person.ask('GET', list)).body.count, 2);
});

test('@current: any key learns about itself and its owner; a session has none', async () => {
  const person = await newPerson(harness);
  for (const scopes of [['event:write'], ['*'], ['user:read']]) {
    const { value, ...created } = await createKey(person, {
      scopes,
      scoped_teams: [person.project.id],
    });
    const { status, body } = await harness.request('GET', `${list}@current/`, { key: value });
    const { user, ...key } = body;
    assert.deepEqual(
      [status, { ...key, last_used_at: null, last_used_ip: null, last_used_user_agent: null }],
      [200, created],
    );
    assert.deepEqual(
      [user.id, user.uuid, user.email],
      [person.user.id, person.user.uuid, person.user.email],
    );
    assert.ok(!('value' in key) && !('password_hash' in user));
  }
  assert.equal((await person.ask('GET', `${list}@current/`)).status, 404);
  assert.equal((await harness.request('GET', `${list}@current/`)).status, 401);
  assert.equal((await person.ask('DELETE', `${list}@current/`)).status, 405);
  const scopeless = await harness.newKey(person.user, { scopes: [] });
  assert.equal(await statusOf(scopeless, `${list}@current/`), 200);
});

test('the log of the person has each change of a key once, without the key', async () => {
  const person = await newPerson(harness);
  const created = await createKey(person, { label: 'Logged' });
  await person.ask('PATCH', `${list}${created.id}/`, { label: 'Renamed' });
  const rolled = await person.ask('POST', `${list}${created.id}/roll/`, { overlap_seconds: 60 });
  await person.ask('DELETE', `${list}${created.id}/`);
  await person.ask('POST', `${list}?validate_only=true`, { label: 'x', scopes: ['*'] });
  await person.ask('POST', list, { label: '' });
  const rows = await harness.deps.db.rows<Record<string, unknown>>(sql`
    SELECT activity, scope, item_id, item_name, changes, user_uuid, key_id, organization_id
      FROM activity WHERE chain_id = ${person.user.uuid}::uuid ORDER BY number`);
  assert.deepEqual(
    rows.map(({ activity, scope, item_id, item_name }) => [activity, scope, item_id, item_name]),
    [
      ['created', 'personal_api_key', created.id, 'Logged'],
      ['updated', 'personal_api_key', created.id, 'Logged'],
      ['rolled', 'personal_api_key', created.id, 'Renamed'],
      ['deleted', 'personal_api_key', created.id, 'Renamed'],
    ],
  );
  assert.deepEqual(rows[1]!['changes'], [
    { field: 'label', action: 'changed', before: 'Logged', after: 'Renamed' },
  ]);
  const roll = rows[2]!['changes'] as { field: string; after: unknown }[];
  assert.deepEqual(
    roll.map(({ field }) => field),
    ['expires_at', 'replaced_by'],
  );
  assert.equal(roll[1]!.after, rolled.body.id);
  assert.ok(
    rows.every(
      (row) =>
        row['user_uuid'] === person.user.uuid &&
        row['key_id'] === null &&
        row['organization_id'] === null,
    ),
  );
  for (const value of [created.value, rolled.body.value])
    assert.ok(!JSON.stringify(rows).includes(value));
});
