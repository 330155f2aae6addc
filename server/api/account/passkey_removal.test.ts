import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { resetUser } from '../../cli/people/user.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import {
  addPasskey,
  list_of_passkeys,
  openPasskeyBrowser,
  signInByPasskey,
  signedInAt,
} from '../../../test/factories/people/passkeys.ts';
import type { PasskeyBrowser } from '../../../test/factories/people/passkeys.ts';
import {
  activitiesOf,
  codeOf,
  inMail,
  newPerson,
  password,
  trySignIn,
} from '../../../test/factories/people/people.ts';
import {
  clock,
  harness,
  openAroundTests,
  server,
} from '../../../test/factories/people/people_around_tests.ts';
import type { Answer } from '../../../test/harness.ts';

openAroundTests('mail');

const me = '/api/users/@me/';
const current_password = password;

async function newHolder() {
  const user = await newPerson(harness);
  const browser = await signedInAt(harness, user);
  return { user, browser };
}

const remove = (browser: PasskeyBrowser, id: string, more: object) =>
  browser.ask('DELETE', `${list_of_passkeys}${id}/`, { current_password, ...more });
const told = ({ status, body }: Answer) => [status, body?.attr, body?.code];

/** Makes the user a member of an organization that enforces a second factor. */
async function enforce(user: { id: number }, name: string): Promise<void> {
  const { organization } = await harness.newOrganization({ name });
  await addMember(harness.deps, organization.id, user, 1);
  await harness.deps.db.run(
    sql`UPDATE organizations SET enforce_2fa = true WHERE id = ${organization.id}::uuid`,
  );
}

test('the last second factor stays while an organization asks for one', async () => {
  const { user, browser } = await newHolder();
  const { authenticator, created } = await addPasskey(browser);
  await enforce(user, 'Strict & Co');
  await enforce(user, 'Stricter');
  const shown = async () => ({ passkey: authenticator.show(await browser.options()) });
  const refused = await remove(browser, created['id'], await shown());
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /last second factor, and Strict & Co, Stricter ask for one/);
  const seed = await browser.ask('POST', `${me}totp/`, { current_password, ...(await shown()) });
  const code = () => codeOf(seed.body.secret, clock.now());
  await browser.ask('POST', `${me}totp/confirm/`, { code: code() });
  clock.pass(60_000);
  // Now either may go, and not both.
  assert.equal((await remove(browser, created['id'], { code: code() })).status, 204);
  clock.pass(60_000);
  const removeTotp = () => browser.ask('DELETE', `${me}totp/`, { current_password, code: code() });
  assert.equal((await removeTotp()).status, 409);
  const { body: account } = await browser.ask('GET', me);
  assert.deepEqual(
    [account.is_totp_enabled, account.passkey_count, account.recovery_codes_left],
    [true, 0, 10],
  );
  clock.pass(60_000);
  const again = await addPasskey(browser, { code: code() });
  clock.pass(60_000);
  assert.equal((await removeTotp()).status, 204);
  const last = await remove(browser, again.created['id'], {
    passkey: again.authenticator.show(await browser.options()),
  });
  assert.equal(last.status, 409);
});

test('a passkey is removed with the factor, and what it opened is closed', async () => {
  const { user, browser } = await newHolder();
  const { authenticator, created } = await addPasskey(browser);
  const asked = await remove(browser, created['id'], {});
  assert.deepEqual(told(asked), [400, 'code', 'required']);
  const passkey = authenticator.show(await browser.options());
  assert.equal((await remove(browser, created['id'], { passkey })).status, 204);
  await inMail(server, user.email, ({ content }) =>
    /last passkey was removed/.exec(content.subject!),
  );
  assert.equal((await activitiesOf(harness, user)).at(-1), 'passkey deleted');
  const { body: account } = await browser.ask('GET', me);
  assert.deepEqual([account.is_2fa_enabled, account.recovery_codes_left], [false, 0]);
  assert.equal((await signInByPasskey(openPasskeyBrowser(harness), authenticator)).status, 401);
  assert.equal((await remove(browser, created['id'], { passkey })).status, 404);
});

test('the only way into an account stays', async () => {
  const { user, browser } = await newHolder();
  const { authenticator, created } = await addPasskey(browser);
  await harness.deps.db.run(sql`UPDATE users SET password_hash = NULL WHERE id = ${user.id}`);
  const removal = async () =>
    browser.ask('DELETE', `${list_of_passkeys}${created['id']}/`, {
      passkey: authenticator.show(await browser.options()),
    });
  const refused = await removal();
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /only way into your account/);
  await harness.deps.db.run(sql`
    INSERT INTO social_identities (id, user_id, provider, subject, created_at, last_used_at)
    VALUES (gen_random_uuid(), ${user.id}, 'github', ${user.uuid}, now(), now())`);
  assert.equal((await removal()).status, 204);
});

test('the operator removes passkeys with the second factor', async () => {
  const { user, browser } = await newHolder();
  const { authenticator } = await addPasskey(browser);
  await resetUser(harness.deps, { email: user.email });
  assert.equal((await signInByPasskey(browser, authenticator)).status, 201);
  await resetUser(harness.deps, { email: user.email, secondFactor: true });
  assert.equal((await signInByPasskey(browser, authenticator)).status, 401);
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});

test('passkeys go with their account, and are counted', async () => {
  const { user, browser } = await newHolder();
  await addPasskey(browser);
  const deleted = await browser.ask('DELETE', me, { current_password });
  assert.equal(deleted.status, 204, deleted.text);
  const row = await harness.deps.db.row<{ passkeys: number }>(
    sql`SELECT (counts->>'passkeys')::integer AS passkeys FROM deletions
      WHERE id = ${user.uuid}::uuid`,
  );
  assert.equal(row?.passkeys, 1);
});
