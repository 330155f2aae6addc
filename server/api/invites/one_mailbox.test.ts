import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPerson, password, trySignIn } from '../../../test/factories/people/people.ts';
import { withPlainDomain } from '../../platform/mail/mailbox.ts';
import { findUserByEmail } from '../users/store.ts';
import { shareHome } from '../../../test/shared_home.ts';
import { faultsOf } from '../../../test/watchers/faults_of.ts';

const { harness, home } = shareHome();

/** One mailbox in all spellings of its domain; the first is the one that is kept. */
const spellings = (name: string) => [
  `${name}@xn--bcher-corp-9db.de`,
  `${name}@bücher-corp.de`,
  `${name}@BÜCHER-Corp.DE`,
  `${name}@XN--BCHER-CORP-9DB.de`,
  `${name}@bu\u0308cher-corp.de`,
];
const invites = () => `/api/organizations/${home.organization.id}/invites/`;
const invite = (target_email: string) => home.ask('POST', invites(), { target_email });

test('a domain has one spelling, and an unfit name stays unchanged', () => {
  const [kept] = spellings('ada');
  for (const spelling of spellings('ada')) assert.equal(withPlainDomain(spelling), kept);
  for (const [given, plain] of [
    ['Ada@Example.COM', 'Ada@example.com'],
    ['ada@1.2.3', 'ada@1.2.3'],
    ['ädä@example.com', 'ädä@example.com'],
    ['nobody', 'nobody'],
  ])
    assert.equal(withPlainDomain(given!), plain);
});

test('an invite replaces the open one of its mailbox; one request asks for it once', async () => {
  const [kept] = spellings('ada');
  for (const spelling of spellings('ada')) {
    const created = await invite(spelling);
    assert.deepEqual([created.status, created.body.target_email], [201, kept]);
  }
  const { body } = await home.ask('GET', invites());
  const open = body.results.filter((one: { target_email: string }) => one.target_email === kept);
  assert.equal(open.length, 1);
  const bulk = await home.ask(
    'POST',
    `${invites()}bulk/`,
    spellings('bob').map((target_email) => ({ target_email })),
  );
  assert.deepEqual(
    faultsOf(bulk),
    [1, 2, 3, 4].map((index) => `${index}__target_email unique`),
  );
});

test('a member is found in every spelling, and nobody else takes the address', async () => {
  const [kept] = spellings('cyd');
  const created = await invite(spellings('cyd')[1]!);
  const [, id, token] = /invite\/([^?]+)\?token=(.+)$/.exec(created.body.link)!;
  const joined = await harness.request('POST', `/api/invites/${id}/accept/`, {
    body: { token, password },
  });
  assert.equal(joined.status, 201, joined.text);
  assert.equal(joined.body.member.user.email, kept);
  const other = await newPerson(harness);
  for (const spelling of spellings('cyd')) {
    const again = await invite(spelling);
    assert.deepEqual([again.status, again.body.attr], [400, 'target_email'], spelling);
    assert.equal((await findUserByEmail(harness.deps.db, spelling))?.email, kept);
    assert.equal((await trySignIn(harness, spelling)).status, 201, spelling);
    const cookie = await harness.newSession(other);
    const taken = await harness.request('POST', '/api/users/@me/email/', {
      headers: { cookie },
      body: { email: spelling, current_password: password },
    });
    assert.deepEqual([taken.status, taken.body.attr], [400, 'email'], taken.text);
  }
});
