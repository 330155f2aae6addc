import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newDirectory, patchOf } from '../../../test/factories/people/directories.ts';
import type { TestDirectory } from '../../../test/factories/people/directories.ts';
import { shareHarness } from '../../../test/harness.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });

const set = (value: object) => patchOf({ op: 'replace', value });
const change = async (own: TestDirectory, id: string, value: object) => {
  const { status, body } = await own.scim('PATCH', `/Users/${id}`, set(value));
  return [status, body.scimType, body.detail ?? body.userName] as const;
};
const setLevel = (id: string, level: number) =>
  harness.deps.db.run(sql`UPDATE members SET level = ${level} WHERE user_id = (
    SELECT id FROM users WHERE uuid = ${id}::uuid)`);
const setAddress = (id: string, email: string) =>
  harness.deps.db.run(sql`UPDATE users SET email = ${email} WHERE uuid = ${id}::uuid`);
const lapse = (own: TestDirectory, state = 'lapsed') =>
  harness.deps.db.run(sql`UPDATE domains SET state = ${state} WHERE id = ${own.domain.id}`);

test('a token opens the directory of its verified domain, and nothing else', async () => {
  const [own, other] = [await newDirectory(harness), await newDirectory(harness)];
  const ada = await own.provision('ada');
  const at = own.domain.domain;
  for (const token of [
    other.token,
    own.key,
    'slc_x',
    `slc_${'a'.repeat(43)}`,
    own.token.slice(0, -1),
  ])
    for (const [method, path] of [
      ['GET', '/Users'],
      ['GET', '/ServiceProviderConfig'],
      ['DELETE', `/Users/${ada.id}`],
      ['POST', '/Bulk'],
    ] as const) {
      const answer = await own.scim(method, path, undefined, token);
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, 'Bearer']);
      assert.equal(answer.headers['content-type'], 'application/scim+json; charset=utf-8');
    }
  const api = await harness.request('GET', own.url, { key: own.token });
  assert.equal(api.status, 401);
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', { userName: `x@${at}` }],
    ['PATCH', set({ active: false })],
    ['DELETE', undefined],
  ] as const)
    assert.equal((await other.scim(method, `/Users/${ada.id}`, body)).status, 404, method);
  // It does not even wait for the account of somebody whom it does not see.
  await harness.deps.db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM users WHERE uuid = ${ada.id}::uuid FOR NO KEY UPDATE`);
    const answer = await other.scim('PATCH', `/Users/${ada.id}`, set({ active: false }));
    assert.equal(answer.status, 404);
  });

  await lapse(own);
  for (const [method, path] of [
    ['GET', '/Users'],
    ['DELETE', `/Users/${ada.id}`],
  ] as const) {
    const { status, body } = await own.scim(method, path);
    assert.deepEqual([status, body.status], [403, '403']);
    assert.match(body.detail, /not verified now/);
  }
  await lapse(own, 'verified');
  assert.equal((await own.scim('GET', '/Users')).status, 200);
  await own.ask('DELETE', own.url.replace('scim/', ''));
  assert.equal((await own.scim('GET', '/Users')).status, 401);
  assert.equal(await own.levelOf(`ada@${at}`), 1);
});

test('an address is moved within the domain alone, and never to somebody else’s', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const { id } = await own.provision('ada');
  await own.provision('bob');
  const invites = `/api/organizations/${own.organization.id}/invites/`;
  const invited = { target_email: `boss@${at}`, level: 15 };
  await own.ask('POST', invites, invited);
  for (const [userName, status, type] of [
    ['ada@elsewhere.example', 400, 'invalidValue'],
    [`ada@sub.${at}`, 400, 'invalidValue'],
    [`ada@x${at}`, 400, 'invalidValue'],
    [`a,b@${at}`, 400, 'invalidValue'],
    [`\u0430da@${at}`, 400, 'invalidValue'],
    ['ada', 400, 'invalidValue'],
    [`BOB@${at}`, 409, 'uniqueness'],
    [`boss@${at}`, 400, 'mutability'],
  ] as const)
    assert.deepEqual((await change(own, id, { userName })).slice(0, 2), [status, type], userName);
  for (const path of ['userName', 'active'])
    assert.equal(
      (await own.scim('PATCH', `/Users/${id}`, patchOf({ op: 'remove', path }))).body.scimType,
      'mutability',
    );
  assert.equal((await change(own, id, { userName: `ADA@${at.toUpperCase()}` }))[0], 200);
  assert.deepEqual((await change(own, id, { userName: `eve@${at}` }))[2], `eve@${at}`);

  const elsewhere = await harness.newOrganization();
  const join = sql`INSERT INTO members (id, organization_id, user_id, level)
    SELECT gen_random_uuid(), ${elsewhere.organization.id}::uuid, id, 15 FROM users
    WHERE uuid = ${id}::uuid`;
  await harness.deps.db.run(join);
  const of_others = await change(own, id, { userName: `mallory@${at}` });
  assert.match(of_others.join(' '), /^400 mutability .*other organizations/);
  await harness.deps.db.run(
    sql`DELETE FROM members WHERE organization_id = ${elsewhere.organization.id}::uuid
      AND user_id = (SELECT id FROM users WHERE uuid = ${id}::uuid)`,
  );
  await setLevel(id, 15);
  const owner = await change(own, id, { userName: `mallory@${at}` });
  assert.match(owner.join(' '), /^400 mutability .*is an owner/);
  assert.equal(
    (await change(own, id, { name: { givenName: 'E' }, userName: `eve@${at}` }))[0],
    200,
  );
  // Entra renames whom it closes: they go all the same, under the address that they had.
  await setLevel(id, 8);
  await harness.deps.db.run(join);
  for (const userName of [`0a21f0f28d2aeve@${at}`, 'no address'])
    assert.deepEqual(await change(own, id, { active: false, userName }), [
      200,
      undefined,
      `eve@${at}`,
    ]);
});

test('an address elsewhere cannot be taken from, or given to, a person', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  // Never told of by the directory, which has looked at them and remembers the id.
  const { user } = await harness.newMember(own.organization.id, 1);
  await setAddress(user.uuid, `seen@${at}`);
  await setAddress(user.uuid, `seen.${at}@private.example`);
  const read = await own.scim('GET', `/Users/${user.uuid}`);
  assert.deepEqual([read.status, read.body.active], [200, true]);
  const back = await change(own, user.uuid, { userName: `seen@${at}` });
  assert.match(back.join(' '), /^400 mutability .*no longer an address of/);
  const named = await own.scim('PATCH', `/Users/${user.uuid}`, set({ 'name.givenName': 'Nobody' }));
  assert.deepEqual([named.status, named.body.name], [200, undefined]);
  assert.equal((await change(own, user.uuid, { active: false }))[0], 200);
  assert.equal(await own.levelOf(`seen.${at}@private.example`), undefined);
  // A person whom another organization's directory can reactivate at any time.
  const other = await newDirectory(harness);
  const { id } = await other.provision('away');
  assert.equal((await change(other, id, { active: false }))[0], 200);
  await setAddress(id, `away@${at}`);
  await own.provision('away');
  const moved = await change(own, id, { userName: `mallory@${at}` });
  assert.match(moved.join(' '), /^400 mutability .*other organizations/);
});

test('a removal takes every way in along, here alone', async () => {
  const [own, other] = [await newDirectory(harness), await newDirectory(harness)];
  const { user, key } = await harness.newMember(own.organization.id, 8);
  await setAddress(user.uuid, `leaver@${own.domain.domain}`);
  await addMember(harness.deps, other.organization.id, user, 1);
  const reach = async (home: TestDirectory) =>
    (await harness.request('GET', `/api/organizations/${home.organization.id}/`, { key })).status;
  assert.deepEqual([await reach(own), await reach(other)], [200, 200]);
  assert.equal((await change(own, user.uuid, { active: false }))[0], 200);
  assert.deepEqual([await reach(own), await reach(other)], [404, 200]);
  assert.equal((await other.scim('GET', `/Users/${user.uuid}`)).status, 404);
});

test('hostile filters, paths and bodies are refused quickly, and change nothing', async () => {
  const own = await newDirectory(harness);
  const { id } = await own.provision('ada');
  const before = (await own.scim('GET', `/Users/${id}`)).body;
  for (const filter of [
    `userName eq "${'\n'.repeat(1_000)}`,
    '('.repeat(1_900),
    'userName '.repeat(200),
    `${'userName eq "a" and '.repeat(50)}userName eq "a"`,
    'a['.repeat(900),
    'userName eq "\\u0000"',
    'userName eq "\\ud800"',
    'userName sw "a"',
    'userName eq "a" or userName eq "b"',
    'not (userName eq "a")',
    '__proto__ eq "a"',
    'constructor eq "a"',
    'userName',
    'userName eq',
    'x'.repeat(3_000),
  ]) {
    const { status, body } = await own.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    assert.deepEqual([status, body.scimType], [400, 'invalidFilter'], filter.slice(0, 40));
  }
  const bodies: [unknown, number, string | undefined][] = [
    ['{"schemas":', 400, 'invalidSyntax'],
    ['[]', 400, 'invalidSyntax'],
    ['{}', 400, 'invalidSyntax'],
    [patchOf(), 400, 'invalidSyntax'],
    [
      patchOf(...Array.from({ length: 10_001 }, () => ({ op: 'add', value: {} }))),
      400,
      'invalidSyntax',
    ],
    [patchOf({ op: 'move', path: 'active', value: false }), 400, 'invalidSyntax'],
    [patchOf({ op: 'remove' }), 400, 'invalidPath'],
    [patchOf({ op: 'add', path: 'a[', value: 1 }), 400, 'invalidPath'],
    [patchOf({ op: 'add', path: 'members[value eq', value: 1 }), 400, 'invalidPath'],
    [patchOf({ op: 'add', path: 7, value: 1 }), 400, 'invalidPath'],
    [patchOf({ op: 'replace', value: 'x' }), 400, 'invalidValue'],
    [patchOf({ op: 'replace', path: 'active', value: 'perhaps' }), 400, 'invalidValue'],
    [patchOf({ op: 'replace', path: 'active', value: null }), 400, 'invalidValue'],
    [patchOf({ op: 'replace', path: 'name.givenName', value: 7 }), 400, 'invalidValue'],
    [patchOf({ op: 'replace', path: 'externalId', value: 'x'.repeat(501) }), 400, 'invalidValue'],
    [patchOf({ op: 'replace', path: 'externalId', value: 'a\0' }), 400, 'invalidValue'],
    [
      `{"Operations":[{"op":"add","value":${'['.repeat(70)}${']'.repeat(70)}}]}`,
      400,
      'invalidSyntax',
    ],
    ['x'.repeat(1_100_000), 413, undefined],
    [patchOf({ op: 'add', path: '__proto__.active', value: true }), 200, undefined],
    [
      '{"Operations":[{"op":"add","value":{"__proto__":{"active":false},"id":"x"}}]}',
      200,
      undefined,
    ],
    [patchOf({ op: 'add', path: 'constructor.prototype', value: {} }), 200, undefined],
    [patchOf({ op: 'replace', path: 'id', value: own.user.uuid }), 200, undefined],
  ];
  for (const [body, status, type] of bodies) {
    const answer = await own.scim('PATCH', `/Users/${id}`, body);
    const said = `${JSON.stringify(body).slice(0, 90)} ${answer.text.slice(0, 200)}`;
    assert.deepEqual([answer.status, answer.body.scimType], [status, type], said);
  }
  const form = await harness.request('POST', `/scim/v2/${own.domain.id}/Users`, {
    key: own.token,
    body: 'userName=x',
    headers: { 'content-type': 'text/plain' },
  });
  assert.deepEqual([form.status, form.body.status], [415, '415']);
  for (const [method, path, status] of [
    ['POST', '/Bulk', 501],
    ['POST', '/Things/.search', 404],
    ['GET', '/Me', 501],
    ['PATCH', '/Users', 404],
    ['GET', '/Nothing/here', 404],
    ['GET', '/Users/not-a-uuid', 404],
    ['GET', '/Schemas/urn:x', 404],
    ['GET', '/ResourceTypes?filter=x', 403],
  ] as const)
    assert.equal((await own.scim(method, path)).status, status, path);
  // A base URL that was entered with a slash at its end.
  assert.match((await own.scim('GET', '//Users')).body.detail, /enter it without/);
  assert.deepEqual((await own.scim('GET', `/Users/${id}`)).body, before);
  assert.equal(({} as Record<string, unknown>)['active'], undefined);
});
