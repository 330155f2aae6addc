import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  newPerson,
  other_password,
  setUpSecondFactor,
  signedIn,
  trySignIn,
  userNow,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import { UserError } from '../user_error.ts';
import { createUser, resetUser, setUserActive } from './user.ts';
import { harness, openAroundTests } from '../../../test/factories/people/people_around_tests.ts';

openAroundTests();

const choose = (link: string) =>
  harness.request('POST', '/api/users/reset_password/confirm/', {
    body: { token: link.split('/').at(-1), password: other_password },
  });
const logOf = (chain_id: string) =>
  harness.deps.db.rows<{
    activity: string;
    user_id: number | null;
    ip: string | null;
    user_email: string | null;
  }>(
    sql`SELECT activity, user_id, ip, user_email FROM activity WHERE chain_id = ${chain_id}::uuid
      AND user_id IS NULL ORDER BY number`,
  );

test('a user is created with a link to choose a password, in an organization', async () => {
  const { organization } = await harness.newOrganization();
  for (const [index, named] of [
    organization.id,
    organization.id.toUpperCase(),
    organization.slug,
    undefined,
  ].entries()) {
    const email = `made-${index}@example.com`;
    const link = await createUser(harness.deps, {
      email,
      level: '8',
      ...(named === undefined ? {} : { organization: named }),
    });
    assert.ok(link.startsWith(`${harness.deps.config.public_url}/reset-password/`));
    // The log of the organization shows the membership for the two spellings of its id.
    if (named !== organization.slug && named !== undefined) continue;
    assert.equal((await trySignIn(harness, email, { password: other_password })).status, 401);
    assert.deepEqual((await choose(link)).body, { email });
    const browser = await signedIn(harness, await userNow(harness, email), {
      password: other_password,
    });
    const { body } = await browser.ask('GET', '/api/users/@me/');
    assert.deepEqual(
      [body.is_email_verified, body.organizations.length],
      [false, named === undefined ? 0 : 1],
    );
    if (named !== undefined) assert.equal(body.organizations[0].membership_level, 8);
    assert.deepEqual(await logOf(body.uuid), [
      { activity: 'created', user_id: null, ip: null, user_email: null },
    ]);
  }
  assert.equal(
    (await logOf(organization.id)).filter(({ activity }) => activity === 'joined').length,
    3,
  );
});

test('a wrong user is refused in a sentence, and leaves nothing', async () => {
  const user = await newPerson(harness);
  for (const wanted of [
    { email: user.email.toUpperCase(), level: '1' },
    { email: 'nobody', level: '1' },
    { email: 'new@example.com', level: '2' },
    { email: 'new@example.com', level: '1', organization: 'unknown-slug' },
  ])
    await assert.rejects(createUser(harness.deps, wanted), UserError);
  await assert.rejects(
    resetUser(harness.deps, { email: 'new@example.com', secondFactor: false }),
    UserError,
  );
  await assert.rejects(setUserActive(harness.deps, 'new@example.com', true), UserError);
});

test('a reset gives a link; only when it is asked for, the second factor goes', async () => {
  const { user, browser } = await newSignedIn(harness);
  await setUpSecondFactor(harness, browser);
  await choose(await resetUser(harness.deps, { email: user.email, secondFactor: false }));
  assert.equal(
    (await trySignIn(harness, user.email, { password: other_password })).body.code,
    'second_factor_required',
  );
  await choose(
    await resetUser(harness.deps, { email: user.email.toUpperCase(), secondFactor: true }),
  );
  assert.equal((await trySignIn(harness, user.email, { password: other_password })).status, 201);
  assert.deepEqual(
    (await logOf(user.uuid)).map(({ activity }) => activity),
    ['requested_reset', 'requested_reset'],
  );
});

test('a deactivated person is out at once, until that is undone', async () => {
  const { user, browser } = await newSignedIn(harness);
  const key = await harness.newKey(user);
  const link = await resetUser(harness.deps, { email: user.email, secondFactor: false });
  assert.match(await setUserActive(harness.deps, user.email, false), /no longer active/);
  assert.equal((await harness.request('GET', '/api/users/@me/', { key })).status, 401);
  assert.equal((await browser.ask('GET', '/api/users/@me/')).status, 401);
  assert.equal((await choose(link)).body.code, 'expired');
  await assert.rejects(
    resetUser(harness.deps, { email: user.email, secondFactor: false }),
    UserError,
  );
  await setUserActive(harness.deps, user.email, true);
  assert.equal((await harness.request('GET', '/api/users/@me/', { key })).status, 200);
  assert.equal(
    (await browser.ask('GET', '/api/users/@me/')).status,
    401,
    'a session that was ended stays ended',
  );
  assert.equal((await trySignIn(harness, user.email)).status, 201);
});
