import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { Answer } from '../../../test/harness.ts';
import {
  activitiesOf,
  codeOf,
  newPerson,
  openBrowser,
  password,
  setUpSecondFactor,
  signedIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import {
  clock,
  harness,
  openAroundTests,
} from '../../../test/factories/people/people_around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const me = '/api/users/@me/';
openAroundTests();

const told = ({ status, body }: Answer) => [status, body?.attr, body?.code];
const isEnabled = async (browser: ReturnType<typeof openBrowser>) =>
  (await browser.ask('GET', me)).body.is_2fa_enabled;

test('a second factor counts once its code was sent; seed and codes are kept sealed', async () => {
  const { user, browser } = await newSignedIn(harness);
  const begun = await browser.ask('POST', `${me}totp/`, { current_password: password });
  const { secret, otpauth_url } = begun.body;
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.ok(otpauth_url.startsWith(`otpauth://totp/Sluice:${encodeURIComponent(user.email)}?`));
  assert.equal(await isEnabled(browser), false);
  const wrong = codeOf(secret, clock.now()) === '000000' ? '000001' : '000000';
  assert.deepEqual(told(await browser.ask('POST', `${me}totp/confirm/`, { code: wrong })), [
    400,
    'code',
    'invalid_input',
  ]);
  assert.deepEqual(told(await browser.ask('POST', `${me}totp/confirm/`, { code: 'ABCDEF' })), [
    400,
    'code',
    'invalid_input',
  ]);
  const confirmed = await browser.ask('POST', `${me}totp/confirm/`, {
    code: codeOf(secret, clock.now()),
  });
  assert.equal(confirmed.body.recovery_codes.length, 10);
  assert.equal(new Set(confirmed.body.recovery_codes).size, 10);
  for (const code of confirmed.body.recovery_codes) assert.match(code, /^[A-Z2-7]{5}-[A-Z2-7]{5}$/);
  assert.equal(await isEnabled(browser), true);
  assert.deepEqual((await activitiesOf(harness, user)).slice(-2), [
    'user began_second_factor',
    'user set_up_second_factor',
  ]);
});

test('beginning again replaces the seed until it counts; then it is 409', async () => {
  const { browser } = await newSignedIn(harness);
  assert.equal((await browser.ask('POST', `${me}totp/confirm/`, { code: '123456' })).status, 409);
  const first = (await browser.ask('POST', `${me}totp/`, { current_password: password })).body
    .secret;
  const second = (await browser.ask('POST', `${me}totp/`, { current_password: password })).body
    .secret;
  const confirm = (secret: string) =>
    browser.ask('POST', `${me}totp/confirm/`, { code: codeOf(secret, clock.now()) });
  assert.deepEqual(
    [(await confirm(first)).status, (await confirm(second)).status, (await confirm(second)).status],
    [400, 200, 409],
  );
  assert.equal(
    (await browser.ask('POST', `${me}totp/`, { current_password: password })).status,
    409,
  );
});

test('one of ten concurrent confirmations returns the recovery codes', async () => {
  const browser = await signedIn(harness, await newPerson(harness));
  const { secret } = (await browser.ask('POST', `${me}totp/`, { current_password: password })).body;
  const code = codeOf(secret, clock.now());
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => browser.ask('POST', `${me}totp/confirm/`, { code })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [
    200,
    ...Array.from({ length: 9 }, () => 409),
  ]);
  assert.equal((await browser.ask('GET', me)).body.recovery_codes_left, 10);
});

test('every step takes a session and the password', async () => {
  const user = await newPerson(harness);
  const key = await harness.newKey(user);
  const browser = await signedIn(harness, user);
  const code = '123456';
  const steps: [string, string, Record<string, unknown>][] = [
    ['POST', 'totp/', {}],
    ['DELETE', 'totp/', { code }],
    ['POST', 'recovery_codes/', { code }],
  ];
  for (const [method, path, body] of steps) {
    assert.equal(
      (
        await harness.request(method, me + path, {
          key,
          body: { ...body, current_password: password },
        })
      ).status,
      403,
    );
    assert.deepEqual(told(await browser.ask(method, me + path, body)), [
      400,
      'current_password',
      'required',
    ]);
    assert.deepEqual(
      told(await browser.ask(method, me + path, { ...body, current_password: 'another password' })),
      [400, 'current_password', 'invalid_input'],
    );
  }
  assert.equal(
    (await harness.request('POST', `${me}totp/confirm/`, { key, body: { code } })).status,
    403,
  );
  assert.equal(
    (await browser.ask('DELETE', `${me}totp/`, { code, current_password: password })).status,
    404,
  );
  assert.equal(
    (await browser.ask('POST', `${me}recovery_codes/`, { code, current_password: password }))
      .status,
    409,
  );
});

test('removing it and new recovery codes take a code as well, each only once', async () => {
  const { user, browser } = await newSignedIn(harness);
  const { secret, recovery_codes } = await setUpSecondFactor(harness, browser);
  const ask = (method: string, path: string, code: string | undefined) =>
    browser.ask(method, me + path, { current_password: password, code });
  assert.deepEqual(told(await ask('DELETE', 'totp/', undefined)), [400, 'code', 'required']);
  assert.deepEqual(
    told(await ask('DELETE', 'totp/', codeOf(secret, clock.now()))),
    [400, 'code', 'invalid_input'],
    'the code that confirmed it is used',
  );
  clock.pass(30_000);
  const renewed = await ask('POST', 'recovery_codes/', codeOf(secret, clock.now()));
  assert.equal(renewed.status, 200);
  assert.deepEqual(
    told(await ask('DELETE', 'totp/', recovery_codes[0])),
    [400, 'code', 'invalid_input'],
    'the codes before the new ones are worthless',
  );
  assert.equal((await ask('DELETE', 'totp/', renewed.body.recovery_codes[3])).status, 204);
  const { body } = await browser.ask('GET', me);
  assert.deepEqual([body.is_2fa_enabled, body.recovery_codes_left], [false, 0]);
  assert.deepEqual((await activitiesOf(harness, user)).slice(-2), [
    'user replaced_recovery_codes',
    'user removed_second_factor',
  ]);
  await signedIn(harness, user);
});

test('validate_only shows no seed and no recovery codes', async () => {
  const { browser } = await newSignedIn(harness);
  const ask = (path: string, body: unknown) =>
    browser.ask('POST', `${me}${path}?validate_only=true`, body);
  assert.deepEqual((await ask('totp/', { current_password: password })).body, {});
  const { secret } = (await browser.ask('POST', `${me}totp/`, { current_password: password })).body;
  const code = codeOf(secret, clock.now());
  assert.deepEqual((await ask('totp/confirm/', { code })).body, { recovery_codes: [] });
  const { recovery_codes } = (await browser.ask('POST', `${me}totp/confirm/`, { code })).body;
  assert.deepEqual(
    (await ask('recovery_codes/', { current_password: password, code: recovery_codes[0] })).body,
    { recovery_codes: [] },
  );
  assert.equal((await browser.ask('GET', me)).body.recovery_codes_left, 10);
});

test('wrong codes of somebody who knows the password are slowed', async () => {
  const { browser } = await newSignedIn(harness);
  await setUpSecondFactor(harness, browser);
  const statuses: number[] = [];
  for (let time = 0; time < 6; time += 1)
    statuses.push(
      (
        await browser.ask('DELETE', `${me}totp/`, {
          current_password: password,
          code: 'AAAAA-AAAAA',
        })
      ).status,
    );
  assert.deepEqual(statuses, [400, 400, 400, 400, 400, 429]);
});

test('an account without a password shows by a fresh sign-in that it is them', async () => {
  const user = await newPerson(harness, { password_hash: null });
  const old = openBrowser(harness, await harness.newSession(user));
  clock.pass(10 * 60_000 + 1);
  assert.equal((await old.ask('POST', `${me}totp/`)).status, 403);
  const fresh = openBrowser(harness, await harness.newSession(user));
  assert.equal((await fresh.ask('POST', `${me}totp/`)).status, 200);
});

test('an organization that enforces a second factor is open to people who have one', async () => {
  const { organization } = await harness.newOrganization();
  const user = await newPerson(harness);
  await addMember(harness.deps, organization.id, user, 8);
  await harness.deps.db.run(
    sql`UPDATE organizations SET enforce_2fa = true WHERE id = ${organization.id}`,
  );
  const browser = await signedIn(harness, user);
  const key = await harness.newKey(user);
  const statuses = async () => {
    const path = `/api/organizations/${organization.id}/`;
    const found = [
      await browser.ask('GET', path),
      await harness.request('GET', path, { key }),
      await browser.ask('PATCH', path, { name: 'New' }),
    ];
    return [
      ...found.map(({ status, body }) => (status === 403 ? body.code : status)),
      (await browser.ask('GET', '/api/organizations/')).body.count,
    ];
  };
  const closed = ['second_factor_required', 'second_factor_required', 'second_factor_required', 0];
  assert.deepEqual(await statuses(), closed);
  assert.equal((await browser.ask('GET', me)).body.organizations[0].enforce_2fa, true);
  const { recovery_codes } = await setUpSecondFactor(harness, browser);
  assert.deepEqual(await statuses(), [200, 200, 200, 1]);
  const removal = { current_password: password, code: recovery_codes[0] };
  const refused = await browser.ask('DELETE', `${me}totp/`, removal);
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /your last second factor, and New asks for one/);
  assert.deepEqual(await statuses(), [200, 200, 200, 1]);
});
