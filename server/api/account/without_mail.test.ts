import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../test/refusal.ts';
import {
  forgetAllAttempts,
  newPerson,
  password,
  signedIn,
  trySignIn,
} from '../../../test/factories/people/people.ts';
import { sweepPeople } from '../users/sweep.ts';
import {
  clock,
  harness,
  openAroundTests,
} from '../../../test/factories/people/people_around_tests.ts';

const me = '/api/users/@me/';
openAroundTests();

test('without mail nobody takes an address of a domain that has been proved', async () => {
  const home = await harness.newOrganization();
  const domain = `${randomUUID()}.example`;
  await harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, state, since_at,
      reason, created_at)
    VALUES (gen_random_uuid(), ${home.organization.id}, ${domain}, 'challenge', 'verified', now(),
      '', now())`);
  const browser = await signedIn(harness, await newPerson(harness));
  const refused = await browser.ask('POST', '/api/users/@me/email/', {
    email: `colleague@${domain.toUpperCase()}`,
    current_password: password,
  });
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.attr],
    [400, 'verification_required', 'email'],
  );
  const other = await browser.ask('POST', '/api/users/@me/email/', {
    email: `colleague@sub.${domain}`,
    current_password: password,
  });
  assert.equal(other.status, 200);
});

test('without mail a new address takes effect at once, unverified', async () => {
  const [user, other] = [await newPerson(harness), await newPerson(harness)];
  await harness.deps.db.run(sql`UPDATE users SET is_email_verified = true WHERE id = ${user.id}`);
  const browser = await signedIn(harness, user);
  const email = `new-${user.email}`;
  const { body } = await browser.ask('POST', `${me}email/`, { email, current_password: password });
  assert.deepEqual([body.email, body.is_email_verified, body.pending_email], [email, false, null]);
  assert.equal((await trySignIn(harness, email)).status, 201);
  const taken = await browser.ask('POST', `${me}email/`, {
    email: other.email.toUpperCase(),
    current_password: password,
  });
  assert.deepEqual(refusalOf(taken), [400, 'email', 'unique']);
});

test('without mail what needs one says so', async () => {
  const user = await newPerson(harness);
  const verification = await harness.request('POST', `${me}verify_email/`, {
    key: await harness.newKey(user),
  });
  assert.deepEqual([verification.status, verification.body.code], [400, 'feature_not_available']);
  for (const email of [user.email, 'nobody@example.com']) {
    const { status, body } = await harness.request('POST', '/api/users/reset_password/', {
      body: { email },
    });
    assert.equal(status, 202);
    assert.match(body.detail, /operator/);
  }
  assert.equal(
    await harness.deps.db.row(sql`SELECT 1 FROM user_links WHERE user_id = ${user.id}`),
    undefined,
  );
});

test('the sweep removes expired rows, and nothing else', async () => {
  const day_ms = 24 * 3_600_000;
  const user = await newPerson(harness);
  await signedIn(harness, user);
  const count = async () => {
    const tables = ['sessions', 'user_links', 'attempts'];
    const rows = await Promise.all(
      tables.map((table) =>
        harness.deps.db.text(`SELECT count(*)::integer AS count FROM ${table}`),
      ),
    );
    return rows.map((found) => found.rows[0]?.['count']);
  };
  const now = () => new Date(clock.now()).toISOString();
  const createLink = (purpose: string, expires_at: string) =>
    harness.deps.db.run(
      sql`INSERT INTO user_links VALUES (${user.id}, ${purpose},
        ${harness.deps.secrets.hash(purpose)}, ${user.email}, ${now()}::timestamptz,
        ${expires_at}::timestamptz)`,
    );
  await harness.deps.db.run(sql`DELETE FROM sessions WHERE user_id <> ${user.id}`);
  await createLink('verify_email', now());
  await createLink('reset_password', new Date(clock.now() + 3_600_000).toISOString());
  await forgetAllAttempts(harness);
  await trySignIn(harness, 'nobody@example.com');
  await sweepPeople(harness.deps);
  assert.deepEqual(await count(), [1, 1, 2]);
  clock.pass(7 * day_ms);
  await sweepPeople(harness.deps);
  assert.deepEqual(
    await count(),
    [1, 0, 0],
    'the session was used 7 days ago, which is not longer than that',
  );
  clock.pass(1);
  await sweepPeople(harness.deps);
  assert.deepEqual(await count(), [0, 0, 0]);
});
