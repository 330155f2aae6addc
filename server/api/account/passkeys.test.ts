import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAuthenticator } from '../../../test/factories/people/authenticator.ts';
import type { Bent } from '../../../test/factories/people/authenticator.ts';
import {
  addPasskey,
  insertPasskey,
  list_of_passkeys,
  passkey_origin,
  signedInAt,
} from '../../../test/factories/people/passkeys.ts';
import type { PasskeyBrowser } from '../../../test/factories/people/passkeys.ts';
import {
  activitiesOf,
  codeOf,
  inMail,
  newPerson,
  openBrowser,
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
const told = ({ status, body }: Answer) => [status, body?.attr, body?.code];
const current_password = password;

async function newHolder() {
  const user = await newPerson(harness);
  const browser = await signedInAt(harness, user);
  return { user, browser };
}

const begin = (browser: PasskeyBrowser, more: object = {}) =>
  browser.ask('POST', `${list_of_passkeys}begin/`, { current_password, ...more });
const finish = (browser: PasskeyBrowser, passkey: unknown, name = 'Key') =>
  browser.ask('POST', list_of_passkeys, { name, passkey });

test('the first passkey brings recovery codes, a mail and an entry in the log', async () => {
  const { user, browser } = await newHolder();
  const begun = await begin(browser);
  const { rp, user: asked, attestation, authenticatorSelection, excludeCredentials } = begun.body;
  assert.deepEqual(
    [rp.id, asked.name, attestation, authenticatorSelection, excludeCredentials],
    [
      'localhost',
      user.email,
      'none',
      { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      [],
    ],
  );
  const authenticator = newAuthenticator(passkey_origin);
  const created = await finish(browser, authenticator.create(begun.body), '  Laptop  ');
  assert.equal(created.status, 201, created.text);
  const { recovery_codes, ...passkey } = created.body;
  assert.equal(new Set(recovery_codes).size, 10);
  assert.deepEqual(
    [passkey.name, passkey.transports, passkey.is_backup_eligible, passkey.last_used_at],
    ['Laptop', ['internal', 'hybrid'], true, null],
  );
  const { body: account } = await browser.ask('GET', me);
  assert.deepEqual(
    [account.is_2fa_enabled, account.is_totp_enabled, account.passkey_count],
    [true, false, 1],
  );
  assert.deepEqual((await activitiesOf(harness, user)).slice(-2), [
    'user began_passkey',
    'passkey created',
  ]);
  await inMail(server, user.email, ({ content }) => /A passkey was added/.exec(content.subject!));
  // A recovery code signs in beside the password.
  assert.equal((await trySignIn(harness, user.email)).body.code, 'second_factor_required');
  assert.equal((await trySignIn(harness, user.email, { code: recovery_codes[0] })).status, 201);
});

test('a person with a second factor shows it to add another one', async () => {
  const { browser } = await newHolder();
  const { authenticator, created } = await addPasskey(browser);
  const [one] = created['recovery_codes'];
  assert.deepEqual(told(await begin(browser)), [400, 'code', 'required']);
  assert.deepEqual(told(await begin(browser, { code: 'AAAAA-AAAAA' })), [
    400,
    'code',
    'invalid_input',
  ]);
  const options = await browser.options();
  const unproved = authenticator.show(options, { verifies: false });
  assert.deepEqual(told(await begin(browser, { passkey: unproved })), [
    400,
    'passkey',
    'invalid_input',
  ]);
  const wrong = { current_password: 'wrong', passkey: authenticator.show(options) };
  assert.deepEqual(told(await begin(browser, wrong)), [400, 'current_password', 'invalid_input']);
  const begun = await begin(browser, { passkey: authenticator.show(options) });
  assert.equal(begun.status, 200, begun.text);
  assert.equal(begun.body.excludeCredentials.length, 1);
  const second = await addPasskey(browser, { code: one }, 'Phone');
  assert.deepEqual(second.created['recovery_codes'], []);
  const { body } = await browser.ask('GET', list_of_passkeys);
  assert.deepEqual(
    body.results.map(({ name }: { name: string }) => name),
    ['Phone', 'Laptop'],
  );
  // An app beside it takes one as well.
  const totp = (more: object) => browser.ask('POST', `${me}totp/`, { current_password, ...more });
  assert.deepEqual(told(await totp({})), [400, 'code', 'required']);
  const seed = await totp({ passkey: authenticator.show(await browser.options()) });
  const code = codeOf(seed.body.secret, clock.now());
  const confirmed = await browser.ask('POST', `${me}totp/confirm/`, { code });
  assert.deepEqual([confirmed.status, confirmed.body.recovery_codes], [200, []]);
});

test('a passkey that the browser was not asked for is refused', async () => {
  const [{ browser }, other] = [await newHolder(), await newHolder()];
  const { body: options } = await begin(browser);
  const bents: (Bent & { attestation?: Buffer })[] = [
    { origin: 'https://evil.example' },
    { rp_id: 'evil.example' },
    { type: 'webauthn.get' },
    { cross_origin: true },
    { verifies: false },
    { challenge: (await browser.options()).challenge },
    { challenge: (await begin(other.browser)).body.challenge },
    // {fmt: 'tpm', attStmt: {}}
    { attestation: Buffer.from('63666d746374706d6761747453746d74a0', 'hex') },
  ];
  for (const bent of bents) {
    const passkey = newAuthenticator(passkey_origin).create(options, bent);
    assert.deepEqual(
      told(await finish(browser, passkey)),
      [400, 'passkey', 'invalid_input'],
      JSON.stringify(bent),
    );
  }
  const passkey = newAuthenticator(passkey_origin).create(options);
  const elsewhere = await signedInAt(harness, other.user);
  assert.deepEqual(told(await finish(elsewhere, passkey)), [400, 'passkey', 'invalid_input']);
  for (const name of ['', 'a\nb', 'x'.repeat(65)])
    assert.equal((await finish(browser, passkey, name)).body.attr, 'name');
  const broken = { ...passkey, response: { ...passkey.response, attestationObject: 'o2Nm' } };
  assert.deepEqual(told(await finish(browser, broken)), [400, 'passkey', 'invalid_input']);
  assert.equal((await finish(browser, passkey)).status, 201);
  assert.deepEqual(told(await finish(browser, passkey)), [400, 'passkey', 'invalid_input']);
  const { body } = await other.browser.ask('GET', list_of_passkeys);
  assert.equal(body.count, 0);
});

test('a passkey that another account has is not taken twice', async () => {
  const [one, other] = [await newHolder(), await newHolder()];
  const { body: options } = await begin(one.browser);
  const passkey = newAuthenticator(passkey_origin).create(options);
  assert.equal((await finish(one.browser, passkey)).status, 201);
  const { challenge } = (await begin(other.browser)).body;
  const data = JSON.parse(Buffer.from(passkey.response.clientDataJSON, 'base64url').toString());
  const clientDataJSON = Buffer.from(JSON.stringify({ ...data, challenge })).toString('base64url');
  const copied = { ...passkey, response: { ...passkey.response, clientDataJSON } };
  assert.deepEqual(told(await finish(other.browser, copied)), [400, 'passkey', 'unique']);
});

test('there are twenty at most, also when several are finished at once', async () => {
  const { user, browser } = await newHolder();
  const { body: options } = await begin(browser);
  const { body: later } = await begin(browser);
  for (let count = 0; count < 19; count += 1) await insertPasskey(harness, user);
  const answers = await Promise.all(
    [options, later].map((asked) =>
      finish(browser, newAuthenticator(passkey_origin).create(asked)),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 409]);
});

test('a name is changed, and what is not sent stays', async () => {
  const { user, browser } = await newHolder();
  const { created } = await addPasskey(browser);
  const rename = (body: object) =>
    browser.ask('PATCH', `${list_of_passkeys}${created['id']}/`, body);
  assert.equal((await rename({})).body.name, 'Laptop');
  assert.equal((await rename({ name: 'Old laptop' })).body.name, 'Old laptop');
  assert.equal((await rename({ name: '' })).body.attr, 'name');
  assert.equal((await activitiesOf(harness, user)).at(-1), 'passkey updated');
  const read = await browser.ask('GET', `${list_of_passkeys}${created['id']}/`);
  assert.deepEqual([read.status, read.body.name], [200, 'Old laptop']);
});

test('a stolen session can neither add nor remove a passkey', async () => {
  const { user, browser } = await newHolder();
  const { created } = await addPasskey(browser);
  const stolen = openBrowser(harness, await harness.newSession(user));
  const body = { code: created['recovery_codes'][0] };
  for (const [method, path] of [
    ['POST', `${list_of_passkeys}begin/`],
    ['DELETE', `${list_of_passkeys}${created['id']}/`],
  ] as const)
    assert.deepEqual(told(await stolen.ask(method, path, body)), [
      400,
      'current_password',
      'required',
    ]);
});
