import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { inDepth } from '../../../test/depth.ts';
import {
  forgetAllAttempts,
  newPerson,
  password,
  setUpSecondFactor,
  signedIn,
  trySignIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import { countTry } from '../../platform/http/caller/sign_in_throttle.ts';
import { hashPassword, PasswordsBusyError } from '../../platform/passwords/password.ts';
import {
  failTimes,
  harness,
  openAroundTests,
  outcome,
} from '../../../test/factories/people/people_around_tests.ts';

openAroundTests();

test('the first half of a two-step sign-in costs account and address nothing', async () => {
  const user = await newPerson(harness);
  await setUpSecondFactor(harness, await signedIn(harness, user));
  await failTimes(4, user.email);
  for (let time = 0; time < 21; time += 1)
    assert.equal((await trySignIn(harness, user.email)).body.code, 'second_factor_required');
  await failTimes(1, user.email);
  assert.equal(
    outcome(await trySignIn(harness, user.email)),
    'wait 2',
    'the failures before them still count',
  );
});

test('at most 5 of many concurrent wrong codes with the right password are checked', async () => {
  const user = await newPerson(harness, { password_hash: await hashPassword(password) });
  await setUpSecondFactor(harness, await signedIn(harness, user));
  await forgetAllAttempts(harness);
  const answers = await Promise.all(
    Array.from({ length: inDepth(12, 30) }, () =>
      trySignIn(harness, user.email, { code: 'ABCDE-ABCDE' }),
    ),
  );
  const looked_at = answers.filter(({ status }) => status === 401).length;
  assert.ok(looked_at >= 1 && looked_at <= 5, String(looked_at));
  assert.ok(answers.every(({ status }) => status === 401 || status === 429));
});

test('a right password is not a failure if the request ends otherwise', async () => {
  const { user } = await harness.newOrganization();
  const hash = (await newPerson(harness)).password_hash;
  await harness.deps.db.run(sql`UPDATE users SET password_hash = ${hash} WHERE id = ${user.id}`);
  const browser = await signedIn(harness, user);
  const requests: [string, string, Record<string, unknown>, number][] = [
    ['POST', 'password/', { new_password: 'password1234' }, 400],
    ['POST', 'password/?validate_only=true', { new_password: 'violet anchor mosaic dune' }, 204],
    ['POST', 'totp/?validate_only=true', {}, 200],
    ['DELETE', '', {}, 409],
    ['DELETE', 'totp/', { code: '123456' }, 404],
    ['POST', 'recovery_codes/', { code: '123456' }, 409],
  ];
  await failTimes(4, user.email);
  for (const [method, path, more, status] of requests)
    assert.equal(
      (await browser.ask(method, `/api/users/@me/${path}`, { current_password: password, ...more }))
        .status,
      status,
      `${method} ${path}`,
    );
  assert.equal(
    (
      await harness.request('POST', '/api/sessions/?validate_only=true', {
        body: { email: user.email, password },
      })
    ).status,
    200,
  );
  await failTimes(1, user.email);
  assert.equal(
    outcome(await trySignIn(harness, user.email)),
    'wait 2',
    'the failures before them still count',
  );
});

test('a try that a busy server does not look at is not made; other faults count it', async () => {
  const request = { id: 'busy', ip: '192.0.2.9', server: harness.app } as unknown as FastifyRequest;
  const counted = async (error: Error) => {
    await forgetAllAttempts(harness);
    const work = async () => {
      throw error;
    };
    await assert.rejects(countTry(request, 'somebody@example.com', work), error);
    return (
      await harness.deps.db.rows<{ attempts: number }>(sql`SELECT attempts FROM attempts`)
    ).map(({ attempts }) => attempts);
  };
  assert.deepEqual(await counted(new PasswordsBusyError()), [0, 0]);
  assert.deepEqual(await counted(new Error('something else')), [1, 1]);
});

test('the password alone does not end the series of an account with a second factor', async () => {
  const { user, browser } = await newSignedIn(harness);
  await setUpSecondFactor(harness, browser);
  const remove = () =>
    browser.ask('DELETE', '/api/users/@me/totp/', {
      current_password: password,
      code: 'AAAAA-AAAAA',
    });
  for (let time = 0; time < 5; time += 1) {
    assert.equal((await remove()).status, 400);
    if (time < 4)
      assert.equal(
        (
          await browser.ask('POST', '/api/users/@me/email/', {
            current_password: password,
            email: user.email,
          })
        ).status,
        200,
      );
  }
  assert.equal(outcome(await remove()), 'wait 2');
});
