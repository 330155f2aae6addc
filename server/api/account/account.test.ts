import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import {
  newPerson,
  openBrowser,
  setUpSecondFactor,
  signedIn,
} from '../../../test/factories/people/people.ts';
import { harness, openAroundTests } from '../../../test/factories/people/people_around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const url = '/api/users/@me/';
openAroundTests();

test('the account says who it is and tells the truth about its ways in', async () => {
  const user = await newPerson(harness, { first_name: 'Grace' });
  const browser = await signedIn(harness, user);
  const { body } = await browser.ask('GET', url);
  const { id, uuid, created_at, updated_at, distinct_id, ...rest } = body;
  assert.deepEqual([id, uuid], [user.id, user.uuid]);
  assert.ok(distinct_id !== uuid && Date.parse(created_at) <= Date.parse(updated_at));
  assert.deepEqual(rest, {
    first_name: 'Grace',
    last_name: '',
    email: user.email,
    is_email_verified: false,
    mascot_config: {},
    pending_email: null,
    has_password: true,
    is_2fa_enabled: false,
    is_totp_enabled: false,
    passkey_count: 0,
    recovery_codes_left: 0,
    has_social_auth: false,
    organizations: [],
  });
  await setUpSecondFactor(harness, browser);
  await harness.deps.db.run(
    sql`INSERT INTO social_identities (id, user_id, provider, subject)
      VALUES (gen_random_uuid(), ${user.id}, 'github', ${user.uuid})`,
  );
  const later = (await browser.ask('GET', url)).body;
  assert.deepEqual(
    [later.is_2fa_enabled, later.recovery_codes_left, later.has_social_auth],
    [true, 10, true],
  );
  const without = await newPerson(harness, { password_hash: null });
  assert.equal(
    (await harness.request('GET', url, { key: await harness.newKey(without) })).body.has_password,
    false,
  );
});

test('a key lists the organizations it reaches, even those that need a second factor', async () => {
  const one = await harness.newOrganization({ name: 'One' });
  const other = await harness.newOrganization({ name: 'Other' });
  await addMember(harness.deps, other.organization.id, one.user, 1);
  await harness.deps.db.run(
    sql`UPDATE organizations SET enforce_2fa = true WHERE id = ${other.organization.id}`,
  );
  const named = async (key: string) =>
    (await harness.request('GET', url, { key })).body.organizations.map(
      (row: Record<string, unknown>) => [row['name'], row['membership_level'], row['enforce_2fa']],
    );
  assert.deepEqual(await named(one.key), [
    ['One', 15, null],
    ['Other', 1, true],
  ]);
  assert.deepEqual(
    await named(await harness.newKey(one.user, { scoped_organizations: [one.organization.id] })),
    [['One', 15, null]],
  );
  assert.deepEqual(
    await named(await harness.newKey(one.user, { scoped_teams: [one.project.id] })),
    [],
  );
});

test('PATCH and PUT change the names and the mascot, and nothing else', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user, { scopes: ['user:write'] });
  const before = (await harness.request('GET', url, { key })).body;
  const sent = {
    first_name: ' Grace ',
    mascot_config: { hat: { colour: 'red' }, list: [1, null] },
  };
  const fixed = { email: 'x@example.com', is_email_verified: true, id: 1, has_password: false };
  const told = Object.entries(fixed).flatMap(([name, value]) =>
    before[name] === value ? [] : [name],
  );
  const refused = await harness.request('PATCH', url, { key, body: { ...sent, ...fixed } });
  assert.deepEqual(
    refused.body.errors.map(({ attr, code }: { attr: string; code: string }) => [attr, code]),
    told.map((attr) => [attr, 'read_only']),
  );
  const put = await harness.request('PUT', url, { key, body: { ...sent, ...fixed } });
  assert.deepEqual([put.status, put.headers['sluice-ignored']], [200, told.join(', ')]);
  for (const method of ['PATCH', 'PUT']) {
    const { status, body } = await harness.request(method, url, { key, body: sent });
    assert.equal(status, 200);
    assert.deepEqual(
      { ...body, updated_at: '' },
      { ...before, first_name: 'Grace', mascot_config: sent.mascot_config, updated_at: '' },
    );
  }
  assert.equal((await harness.request('PATCH', url, { key, body: { last_name: '' } })).status, 200);
  assert.equal(
    (
      await harness.request('PATCH', url, {
        key: await harness.newKey(user, { scopes: ['user:read'] }),
        body: {},
      })
    ).status,
    403,
  );
});

test('wrong fields are named; a stale If-Match is 412', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  const cases: [unknown, string, string][] = [
    [{ first_name: 'x'.repeat(151) }, 'first_name', 'max_length'],
    [{ last_name: null }, 'last_name', 'null'],
    [{ first_name: 5 }, 'first_name', 'invalid_input'],
    [{ mascot_config: [] }, 'mascot_config', 'invalid_input'],
    [{ mascot_config: null }, 'mascot_config', 'null'],
    [{ mascot_config: { x: 'x'.repeat(10_000) } }, 'mascot_config', 'max_length'],
    [{ mascot_config: { x: '\0' } }, 'mascot_config__x', 'null_characters_not_allowed'],
  ];
  for (const [body, attr, code] of cases) {
    const answer = await harness.request('PATCH', url, { key, body });
    assert.deepEqual(refusalOf(answer), [400, attr, code], attr);
  }
  const both = await harness.request('PATCH', url, {
    key,
    body: { first_name: 'x'.repeat(151), mascot_config: { x: 'x'.repeat(10_000) } },
  });
  assert.deepEqual(faultsOf(both), ['first_name max_length', 'mascot_config max_length']);
  const unstorable = await harness.request('PATCH', url, {
    key,
    body: { first_name: '\0', last_name: 5 },
  });
  assert.deepEqual(faultsOf(unstorable), [
    'first_name null_characters_not_allowed',
    'last_name invalid_input',
  ]);
  const found = await harness.request('GET', url, { key });
  const change = (etag: string) =>
    harness.request('PATCH', url, {
      key,
      body: { first_name: 'New' },
      headers: { 'if-match': etag },
    });
  assert.equal((await change(found.headers['etag']!)).status, 200);
  assert.equal((await change(found.headers['etag']!)).status, 412);
  assert.equal(
    (
      await harness.request('GET', url, {
        key,
        headers: { 'if-none-match': (await harness.request('GET', url, { key })).headers['etag']! },
      })
    ).status,
    304,
  );
});

test('a missing password is named together with the other fields', async () => {
  const browser = await signedIn(harness, await newPerson(harness));
  const cases: [string, string, unknown, string[]][] = [
    ['POST', 'email/', {}, ['current_password required', 'email required']],
    [
      'POST',
      'email/',
      { current_password: '', email: 'nobody' },
      ['current_password blank', 'email invalid_input'],
    ],
    ['POST', 'password/', {}, ['current_password required', 'new_password required']],
    [
      'POST',
      'password/',
      { new_password: 'short' },
      ['current_password required', 'new_password min_length'],
    ],
    ['DELETE', 'totp/', {}, ['code required', 'current_password required']],
    ['POST', 'recovery_codes/', {}, ['code required', 'current_password required']],
    ['POST', 'totp/', {}, ['current_password required']],
    ['DELETE', '', {}, ['current_password required']],
  ];
  for (const [method, path, body, named] of cases)
    assert.deepEqual(faultsOf(await browser.ask(method, url + path, body)).sort(), named, path);
  const without = openBrowser(
    harness,
    await harness.newSession(await newPerson(harness, { password_hash: null })),
  );
  assert.deepEqual(faultsOf(await without.ask('POST', `${url}password/`, {})), [
    'new_password required',
  ]);
});

test('no body makes a fault, signed in or not', async () => {
  const browser = await signedIn(harness, await newPerson(harness));
  const routes: [string, string][] = [
    ...(['PATCH', 'PUT', 'DELETE'] as const).map((method): [string, string] => [method, url]),
    ...['email/', 'password/', 'verify_email/', 'totp/', 'totp/confirm/', 'recovery_codes/'].map(
      (path): [string, string] => ['POST', url + path],
    ),
    ['DELETE', `${url}totp/`],
    ['POST', '/api/sessions/'],
    ...['verify_email/', 'reset_password/', 'reset_password/confirm/'].map(
      (path): [string, string] => ['POST', `/api/users/${path}`],
    ),
  ];
  const deep = '['.repeat(5_000);
  const texts = [
    '',
    ' ',
    '{',
    '[]',
    'null',
    '"x"',
    '{"email":{}}',
    '{"token":1}',
    '{"current_password":"\\u0000"}',
    '{"code":"\\udfff"}',
    '{"__proto__":1}',
    deep,
  ];
  for (const [method, path] of routes)
    for (const text of texts) {
      const { status } = await browser.ask(method, `${path}?validate_only=true`, text);
      assert.ok(status < 500, `${method} ${path} with ${text.slice(0, 30)}: ${status}`);
    }
});
