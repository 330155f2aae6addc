import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newDirectory, patchOf } from '../../../../test/factories/people/directories.ts';
import type { Resource, TestDirectory } from '../../../../test/factories/people/directories.ts';
import { newPerson } from '../../../../test/factories/people/people.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { addMember } from '../../../../test/factories/people/members.ts';

const harness = shareHarness({ clickhouse: false });
const user_schema = 'urn:ietf:params:scim:schemas:core:2.0:User';
const me = '/api/users/@me/';
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const filtered = (filter: string) => `/Users?filter=${encodeURIComponent(filter)}`;
async function found(own: TestDirectory, filter: string): Promise<string[]> {
  const { status, body, text } = await own.scim(
    'GET',
    `${filtered(filter)}&startIndex=1&count=100`,
  );
  assert.equal(status, 200, text);
  return body.Resources.map(({ userName }: Resource) => userName.split('@')[0]);
}

test('a life as Okta tells it, from the look for somebody to their return', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  assert.deepEqual(await found(own, `userName eq "isaac.brock@${at}"`), []);
  const sent = {
    schemas: [user_schema],
    userName: `isaac.brock@${at}`,
    name: { givenName: 'Isaac', familyName: 'Brock' },
    emails: [{ primary: true, value: `isaac.brock@${at}`, type: 'work' }],
    displayName: 'Isaac Brock',
    locale: 'en-US',
    externalId: '00ujl29u0le5T6Aj10h7',
    groups: [],
    password: 'never-kept-1mz050nq',
    active: true,
  };
  const created = await own.scim('POST', '/Users', sent);
  assert.equal(created.status, 201, created.text);
  assert.equal(created.headers['content-type'], 'application/scim+json; charset=utf-8');
  const { id, meta } = created.body as Resource;
  assert.equal(created.headers['location'], meta.location);
  assert.ok(meta.location.endsWith(`/scim/v2/${own.domain.id}/Users/${id}`));
  const { schemas, userName, name, emails, active, externalId } = created.body;
  assert.deepEqual(
    { schemas, userName, name, emails, active, externalId },
    {
      schemas: [user_schema],
      userName: sent.userName,
      name: sent.name,
      emails: [{ value: sent.userName, type: 'work', primary: true }],
      active: true,
      externalId: sent.externalId,
    },
  );
  assert.deepEqual(await found(own, `userName eq "ISAAC.BROCK@${at}"`), ['isaac.brock']);
  const again = await own.scim('POST', '/Users', sent);
  assert.deepEqual([again.status, again.body.scimType], [409, 'uniqueness']);
  assert.deepEqual(again.body.status, '409');

  const put = await own.scim('PUT', `/Users/${id}`, {
    ...created.body,
    name: { givenName: 'Isaac', familyName: 'Brook' },
  });
  assert.deepEqual([put.status, put.body.name.familyName], [200, 'Brook']);
  const off = patchOf({ op: 'replace', value: { active: false } });
  for (const body of [off, off]) {
    const answer = await own.scim('PATCH', `/Users/${id}`, body);
    assert.deepEqual([answer.status, answer.body.active], [200, false]);
  }
  assert.equal(await own.levelOf(sent.userName), undefined);
  const read = await own.scim('GET', `/Users/${id}`);
  assert.deepEqual([read.status, read.body.active], [200, false]);
  const afresh = await own.scim('POST', '/Users', sent);
  assert.deepEqual([afresh.status, afresh.body.scimType], [409, 'uniqueness']);
  assert.match(afresh.body.detail, /Set active to true/);
  const back = await own.scim('PUT', `/Users/${id}`, { ...put.body, active: true });
  assert.deepEqual([back.status, back.body.active], [200, true]);
  assert.equal(await own.levelOf(sent.userName), 1);
  assert.deepEqual(await own.entries(4), [
    `reactivated member ${sent.userName}`,
    `deactivated member ${sent.userName}`,
    `updated member ${sent.userName}`,
    `joined member ${sent.userName}`,
  ]);
});

test('the requests of Entra, in its spellings', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  // The test of the connection.
  assert.deepEqual(await found(own, `userName eq "${crypto.randomUUID()}"`), []);
  const created = await own.scim('POST', '/Users', {
    schemas: [user_schema, enterprise],
    externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
    userName: `Test_User_ab6490ee@${at}`,
    active: 'True',
    addresses: [{ type: 'work', formatted: null }],
    emails: [{ primary: true, type: 'work', value: `Test_User_fd0ea19b@elsewhere.example` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
    [enterprise]: { department: 'bob', manager: 'x' },
    roles: [],
  });
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  const one = `Test_User_ab6490ee`;
  for (const filter of [
    `externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"`,
    `emails[type eq "work"].value eq "test_user_ab6490ee@${at}"`,
    `emails.value eq "test_user_ab6490ee@${at}"`,
    `${user_schema}:userName eq "test_user_ab6490ee@${at}" and active eq true`,
    `id eq "${id}"`,
    `DisplayName Eq "givenname familyname" AND active eq "True"`,
  ])
    assert.deepEqual(await found(own, filter), [one], filter);
  for (const filter of [
    `externalId eq "0A21F0F2-8D2A-4F8E-BF98-7363C4AED4EF"`,
    `emails[type eq "home"].value eq "test_user_ab6490ee@${at}"`,
    'externalId eq null',
    'id eq "x"',
    'active eq false',
  ])
    assert.deepEqual(await found(own, filter), [], filter);

  const change = async (...operations: object[]) => {
    const answer = await own.scim('PATCH', `/Users/${id}`, patchOf(...operations));
    assert.equal(answer.status, 200, answer.text);
    return answer.body as Resource;
  };
  const named = await change(
    { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@elsewhere.example' },
    { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    { op: 'Add', path: `${enterprise}:department`, value: 'Sales' },
    { op: 'Add', path: `${user_schema}:name.givenName`, value: [{ value: 'Ada' }] },
    { op: 'Remove', path: 'title' },
  );
  assert.deepEqual(named['displayName'], 'Ada updatedFamilyName');
  const paths = { 'name.givenName': 'Eve', [`${enterprise}:manager`]: 'y', EXTERNALID: 'e-1' };
  const { externalId, displayName } = await change({ op: 'Add', value: paths });
  assert.deepEqual([externalId, displayName], ['e-1', 'Eve updatedFamilyName']);
  for (const [value, is] of [
    ['False', false],
    ['True', true],
    [false, false],
    [[{ value: 'true' }], true],
  ] as const)
    assert.equal((await change({ op: 'Replace', path: 'active', value }))['active'], is);
  const moved = await change({ op: 'Replace', path: 'userName', value: `5b50642d@${at}` });
  assert.equal(moved['userName'], `5b50642d@${at}`);
  assert.equal((await own.scim('DELETE', `/Users/${id}`)).status, 204);
  for (const method of ['GET', 'DELETE'])
    assert.equal((await own.scim(method, `/Users/${id}`)).status, 404);
  assert.equal(await own.levelOf(`5b50642d@${at}`), undefined);
  // The account stays, and is let in again when it is provisioned again.
  assert.equal((await own.provision('5b50642d')).id, id);
});

test('lists have pages, and show what is asked for', async () => {
  const own = await newDirectory(harness);
  for (const name of ['a', 'b', 'c'])
    await own.provision(name, { externalId: name, name: { givenName: name } });
  const page = async (query: string) => (await own.scim('GET', `/Users?${query}`)).body;
  const names = (body: Resource) =>
    body['Resources'].map(({ userName }: Resource) => userName.split('@')[0]);
  const second = await page('startIndex=2&count=1&unknown=x');
  assert.deepEqual(
    [second.totalResults, second.startIndex, second.itemsPerPage, names(second)],
    [3, 2, 1, ['b']],
  );
  const none = await page('count=0');
  assert.deepEqual([none.totalResults, none.Resources], [3, []]);
  assert.deepEqual(names(await page('startIndex=0&count=-1')), []);
  assert.deepEqual(names(await page('startIndex=9')), []);
  const shown = await page('attributes=userName,name.givenName&count=1');
  assert.deepEqual(Object.keys(shown.Resources[0]), ['schemas', 'id', 'userName', 'name']);
  const hidden = await page(`excludedAttributes=${user_schema}:emails,meta,id&count=1`);
  assert.ok(!('emails' in hidden.Resources[0]) && 'id' in hidden.Resources[0]);
  for (const [query, type] of [
    ['startIndex=one', 'invalidValue'],
    ['count=1&count=2', 'invalidValue'],
    ['validate_only=perhaps', undefined],
    ['filter=a&filter=b', 'invalidValue'],
  ] as const) {
    const answer = await own.scim('GET', `/Users?${query}`);
    assert.deepEqual([answer.status, answer.body.scimType], type ? [400, type] : [200, undefined]);
  }
});

test('the directory finds and takes over members, and other accounts with care', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const member = await harness.newMember(own.organization.id, 8);
  const email = `there@${at}`;
  await harness.deps.db.run(sql`UPDATE users SET email = ${email} WHERE id = ${member.user.id}`);
  assert.deepEqual(await found(own, `userName eq "${email}"`), ['there']);
  const put = { userName: email, externalId: 'x-1', active: true };
  const taken = await own.scim('PUT', `/Users/${member.user.uuid}`, put);
  assert.deepEqual([taken.status, taken.body.externalId], [200, 'x-1']);
  assert.equal(await own.levelOf(email), 8);

  const unverified = await newPerson(harness, { email: `known@${at}` });
  const key = await harness.newKey(unverified);
  const elsewhere = await harness.newOrganization();
  await addMember(harness.deps, elsewhere.organization.id, unverified, 1);
  const refused = await own.scim('POST', '/Users', { userName: `KNOWN@${at}` });
  assert.deepEqual([refused.status, refused.body.scimType], [409, 'uniqueness']);
  assert.match(refused.body.detail, /never verified.*choose a new password/);
  await harness.deps.db.run(
    sql`UPDATE users SET is_email_verified = true WHERE id = ${unverified.id}`,
  );
  assert.equal((await own.provision('known')).id, unverified.uuid);
  assert.equal((await harness.request('GET', me, { key })).status, 200);
  const closed = await newPerson(harness, { email: `closed@${at}` });
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${closed.id}`);
  const inactive = await own.scim('POST', '/Users', { userName: `closed@${at}` });
  assert.match(`${inactive.status} ${inactive.body.detail}`, /^409 The operator/);

  const invite = `/api/organizations/${own.organization.id}/invites/`;
  const invited = { target_email: `invited@${at}`, level: 8 };
  await own.ask('POST', invite, invited);
  await own.ask('POST', invite, { target_email: `boss@${at}`, level: 15 });
  const created = await own.provision('invited', { name: { givenName: 'In' } });
  assert.equal(await own.levelOf(invited.target_email), 8);
  // Nobody becomes an owner without having been here: the other owners could be taken out then.
  await own.provision('boss');
  assert.equal(await own.levelOf(`boss@${at}`), 8);
  const { body } = await own.ask('GET', invite);
  assert.equal(body.count, 0);
  const account = await harness.deps.db.row(
    sql`SELECT first_name, password_hash, is_email_verified FROM users
      WHERE uuid = ${created.id}::uuid`,
  );
  assert.deepEqual(account, { first_name: 'In', password_hash: null, is_email_verified: true });
});

test('an account without another organization comes back without its old ways in', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const person = await newPerson(harness, { email: `before@${at}` });
  const stateOf = async (key: string) => [
    (await harness.request('GET', me, { key })).status,
    await harness.deps.db.row(
      sql`SELECT password_hash IS NOT NULL AS has_password, is_email_verified FROM users
        WHERE id = ${person.id}`,
    ),
  ];
  const given = [401, { has_password: false, is_email_verified: true }];
  const first = await harness.newKey(person);
  assert.equal((await own.provision('before')).id, person.uuid);
  assert.deepEqual(await stateOf(first), given);
  // Whoever gets the address next is found under it, and activated.
  const second = await harness.newKey(person);
  for (const active of [false, true])
    await own.scim('PATCH', `/Users/${person.uuid}`, patchOf({ op: 'replace', value: { active } }));
  assert.deepEqual(await stateOf(second), given);
  assert.equal(await own.levelOf(`before@${at}`), 1);
});

test('two concurrent creations of a person create one', async () => {
  const own = await newDirectory(harness);
  const ask = () => own.scim('POST', '/Users', { userName: `twice@${own.domain.domain}` });
  const answers = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409, 409]);
});
