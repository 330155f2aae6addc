import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newDirectory, patchOf } from '../../../../test/factories/people/directories.ts';
import type { Resource, TestDirectory } from '../../../../test/factories/people/directories.ts';
import { shareHarness } from '../../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const primary = (value: string) => [{ value, type: 'work', primary: true }];
async function found(own: TestDirectory, filter: string): Promise<string[]> {
  const { body } = await own.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
  return body.Resources.map(({ userName }: Resource) => userName);
}
const said = ({ status, body }: { status: number; body: any }) => [
  status,
  body.scimType ?? body.userName,
  body.emails?.[0].value,
];

test('a userName that is no address goes with an address in emails, as Okta sends it', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const sent = { userName: 'jdoe', emails: primary(`john.doe@${at}`), active: true };
  const created = await own.scim('POST', '/Users', sent);
  assert.deepEqual(said(created), [201, 'jdoe', `john.doe@${at}`]);
  assert.equal(created.body.displayName, 'jdoe');
  assert.equal(await own.levelOf(`john.doe@${at}`), 1);
  const { id } = created.body;
  for (const filter of ['userName eq "JDOE"', `emails.value eq "john.doe@${at}"`, `id eq "${id}"`])
    assert.deepEqual(await found(own, filter), ['jdoe'], filter);
  // The address is not what the directory calls them.
  assert.deepEqual(await found(own, `userName eq "john.doe@${at}"`), []);
  for (const again of [sent, { ...sent, emails: primary(`other@${at}`) }])
    assert.deepEqual(said(await own.scim('POST', '/Users', again)).slice(0, 2), [
      409,
      'uniqueness',
    ]);
  assert.equal(await own.levelOf(`other@${at}`), undefined);

  const change = async (...operations: object[]) =>
    said(await own.scim('PATCH', `/Users/${id}`, patchOf(...operations)));
  const whole = async (body: object) => said(await own.scim('PUT', `/Users/${id}`, body));
  const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });
  assert.deepEqual(await whole({ userName: 'jdoe' }), [200, 'jdoe', `john.doe@${at}`]);
  assert.deepEqual(await whole({ ...sent, userName: 'jd' }), [200, 'jd', `john.doe@${at}`]);
  assert.deepEqual(await change(replace('userName', 'J.Doe')), [200, 'J.Doe', `john.doe@${at}`]);
  assert.deepEqual(await change(replace('emails[type eq "work"].value', `jd@${at}`)), [
    200,
    'J.Doe',
    `jd@${at}`,
  ]);
  assert.deepEqual(await change(replace('emails', primary(`john@${at}`))), [
    200,
    'J.Doe',
    `john@${at}`,
  ]);
  assert.deepEqual(await change(replace('emails', primary('john@elsewhere.example'))), [
    400,
    'invalidValue',
    undefined,
  ]);
  // Taken out and back, they are called as before.
  for (const active of [false, true])
    assert.deepEqual(await change({ op: 'replace', value: { active } }), [
      200,
      'J.Doe',
      `john@${at}`,
    ]);
  // An address of the domain as userName is the account's again.
  assert.deepEqual(await change(replace('userName', `doe@${at}`)), [200, `doe@${at}`, `doe@${at}`]);
  assert.deepEqual(await found(own, 'userName eq "J.Doe"'), []);
  assert.deepEqual(await found(own, `userName eq "doe@${at}"`), [`doe@${at}`]);
});

test('a userName of another domain goes with an address of this one, as with Entra', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const userName = 'ada@acme.onmicrosoft.example';
  const emails = [
    { value: userName, type: 'other' },
    { value: `ada.home@${at}`, type: 'home' },
    { value: `ada@${at}`, type: 'work', primary: true },
  ];
  const created = await own.scim('POST', '/Users', { userName, emails });
  assert.deepEqual(said(created), [201, userName, `ada@${at}`]);
  assert.deepEqual(await found(own, `userName eq "${userName}"`), [userName]);
  const second = {
    userName: 'bob@x.example',
    emails: [{ value: 'b@y.example', primary: true }, { value: `bob@${at}` }],
  };
  assert.deepEqual(said(await own.scim('POST', '/Users', second)), [
    201,
    'bob@x.example',
    `bob@${at}`,
  ]);
});

test('no person is named by an address outside of the domain', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  for (const body of [
    { userName: 'jdoe' },
    { userName: 'jdoe', emails: [] },
    { userName: 'jdoe', emails: primary('jdoe@elsewhere.example') },
    { userName: 'jdoe', emails: primary(`jdoe@sub.${at}`) },
    { userName: 'jdoe', emails: primary(`jd\u043ee@${at}`) },
    { userName: 'j\u202edoe', emails: primary(`jdoe@${at}`) },
    { userName: 'x'.repeat(256), emails: primary(`jdoe@${at}`) },
    { userName: '', emails: primary(`jdoe@${at}`) },
    { emails: primary('jdoe@elsewhere.example') },
    {},
  ]) {
    const answer = await own.scim('POST', '/Users', body);
    assert.deepEqual(said(answer).slice(0, 2), [400, 'invalidValue'], JSON.stringify(body));
  }
  assert.equal((await own.scim('GET', '/Users')).body.totalResults, 0);
  assert.deepEqual(said(await own.scim('POST', '/Users', { emails: primary(`jdoe@${at}`) })), [
    201,
    `jdoe@${at}`,
    `jdoe@${at}`,
  ]);
});

test('an existing member is linked by their address, once', async () => {
  const own = await newDirectory(harness);
  const at = own.domain.domain;
  const { user } = await harness.newMember(own.organization.id, 8);
  await harness.deps.db.run(sql`UPDATE users SET email = ${`jo@${at}`} WHERE id = ${user.id}`);
  const sent = { userName: 'jo', externalId: 'e-1', emails: primary(`jo@${at}`), active: true };
  const taken = await own.scim('POST', '/Users', sent);
  assert.deepEqual([taken.status, taken.body.id, taken.body.userName], [201, user.uuid, 'jo']);
  assert.deepEqual([taken.body.externalId, await own.levelOf(`jo@${at}`)], ['e-1', 8]);
  assert.deepEqual(await own.entries(1), [`updated member jo@${at}`]);
  assert.deepEqual(
    said(await own.scim('POST', '/Users', { ...sent, userName: 'jo2' })).slice(0, 2),
    [409, 'uniqueness'],
  );
});
