import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import sql, { raw } from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';
import {
  activitiesOf,
  forgetAllAttempts,
  newPerson,
  password,
  setCookieOf,
  signedIn,
  newSignedIn,
} from '../../../test/factories/people/people.ts';
import { harness, openAroundTests } from '../../../test/factories/people/people_around_tests.ts';
import { listRemovals } from '../../cli/removals.ts';
import { certifyDeletions } from '../../engine/model/removals/certify_deletions.ts';
import { isSigned } from '../../platform/secrets/secrets.ts';
import { addMember } from '../../../test/factories/people/members.ts';

const url = '/api/users/@me/';
openAroundTests();

const exists = async (user: { id: number }) =>
  (await harness.deps.db.row(sql`SELECT 1 FROM users WHERE id = ${user.id}`)) !== undefined;

test('deleting an account takes password and session; objects of the person stay', async () => {
  const user = await newPerson(harness);
  const home = await harness.newOrganization();
  await addMember(harness.deps, home.organization.id, user, 8);
  const browser = await signedIn(harness, user);
  const key = await harness.newKey(user);
  assert.equal(
    (await harness.request('DELETE', url, { key, body: { current_password: password } })).status,
    403,
  );
  assert.deepEqual((await browser.ask('DELETE', url, {})).body.attr, 'current_password');
  assert.equal(
    (await browser.ask('DELETE', url, { current_password: 'another password' })).status,
    400,
  );
  assert.equal(
    (await browser.ask('DELETE', `${url}?validate_only=true`, { current_password: password }))
      .status,
    204,
  );
  assert.ok(await exists(user));
  const deleted = await browser.ask('DELETE', url, { current_password: password });
  assert.equal(deleted.status, 204);
  assert.match(setCookieOf(deleted)!, /^sluice_session=;/);
  assert.ok(!(await exists(user)));
  assert.equal((await harness.request('GET', url, { key })).status, 401);
  assert.equal(
    (await home.ask('GET', `/api/organizations/${home.organization.id}/`)).body.member_count,
    '1',
  );
  assert.equal((await activitiesOf(harness, user)).at(-1), 'user deleted');
  const log = await home.ask('GET', `/api/organizations/${home.organization.id}/activity/`);
  assert.deepEqual(
    [log.body.results[0].scope, log.body.results[0].activity, log.body.results[0].item_name],
    ['user', 'deleted', user.email],
  );
});

// The word is long enough not to come up in a random token.
test('no table names a deleted user but the log, and a certificate counts what went', async () => {
  const { db, secrets } = harness.deps;
  const email = 'Zq7gone.Leaving@example.org';
  const user = await newPerson(harness, { email, first_name: 'Zq7gonename' });
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  await addMember(harness.deps, home.organization.id, user, 15);
  const browser = await signedIn(harness, user);
  const key = await harness.newKey(user);
  const of = (place: typeof home, path: string) =>
    `/api/${path.replace('*', place.organization.id)}`;
  const project = `/api/projects/${home.project.id}/`;
  const created = [
    // Objects that the person creates, under their key and in their name.
    await harness.request('POST', of(home, 'organizations/*/invites/'), {
      key,
      body: { target_email: 'somebody@example.org' },
      headers: { 'idempotency-key': 'zq7gone' },
    }),
    await harness.request('POST', `${project}notice_targets/`, {
      key,
      body: { type: 'email', address: 'zq7gone.leaving@example.org', events: ['failing'] },
    }),
    // Objects that others create about the person.
    await other.ask('POST', of(other, 'organizations/*/invites/'), {
      target_email: email.toLowerCase(),
      first_name: 'Zq7gonename',
    }),
  ];
  assert.deepEqual(
    created.map(({ status }) => status),
    [201, 201, 201],
  );
  await db.run(sql`INSERT INTO configuration_objects (organization_id, kind, object_id, parent_id,
      key, source, fields, secrets, applied_at)
    VALUES (${home.organization.id}, 'member', ${user.uuid}, '', 'zq7gone', 'files',
      ${JSON.stringify({ email: user.email })}::jsonb, '{}', now())`);
  assert.ok((await tablesNaming('zq7gone')).length > 4);
  await browser.ask('DELETE', url, { current_password: password });
  assert.ok(!(await exists(user)));
  // The log is a chain: it says who did what for as long as the organization is there.
  assert.deepEqual(await tablesNaming('zq7gone'), ['activity']);
  assert.ok((await certifyDeletions(harness.deps)) > 0);
  assert.equal(await certifyDeletions(harness.deps), 0);
  const row = await db.row<{ certificate: string; signature: string }>(
    sql`SELECT certificate, signature FROM deletions WHERE id = ${user.uuid}`,
  );
  assert.ok(isSigned(row!.certificate, row!.signature, secrets.public_key));
  const { kind, rows } = JSON.parse(row!.certificate);
  assert.deepEqual(
    [kind, rows.memberships, rows.keys, rows.sessions, rows.invites_to_them, rows.notice_targets],
    ['user', 1, 1, 1, 1, 1],
  );
  assert.ok((await listRemovals(harness.deps)).includes(row!.certificate));
  // An organization has one too, with what its projects had in the analytics store.
  await other.ask('DELETE', of(other, 'organizations/*/'));
  assert.equal(await certifyDeletions(harness.deps), 0, 'its project is not removed yet');
  await db.run(sql`UPDATE removals SET ended_at = now(), events = 5, persons = 2
    WHERE organization_id = ${other.organization.id}`);
  assert.equal(await certifyDeletions(harness.deps), 1);
  const { certificate } = (await db.row<{ certificate: string }>(
    sql`SELECT certificate FROM deletions WHERE id = ${other.organization.id}`,
  ))!;
  const { projects, rows: left } = JSON.parse(certificate);
  assert.deepEqual(projects, [{ team_id: other.project.id, events: 5, persons: 2 }]);
  assert.deepEqual([left.projects, left.memberships], [1, 1]);
});

/** The tables of the control store of which a row has the text, in any case. */
async function tablesNaming(text: string): Promise<string[]> {
  const { db } = harness.deps;
  const tables = await db.rows<{ name: string }>(sql`SELECT relname AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname`);
  const found: string[] = [];
  for (const { name } of tables)
    if (
      (await db.row(sql`SELECT 1 FROM ${raw(name)} one WHERE strpos(lower(one::text), ${text}) > 0
        LIMIT 1`)) !== undefined
    )
      found.push(name);
  return found;
}

test('the only owner of an organization stays, and learns which one', async () => {
  const { user, browser } = await newSignedIn(harness);
  const [one, other, shared] = [
    await harness.newOrganization({ name: 'Left alone' }),
    await harness.newOrganization({ name: 'With an inactive owner' }),
    await harness.newOrganization({ name: 'Shared' }),
  ];
  for (const { organization } of [one, other, shared])
    await addMember(harness.deps, organization.id, user, 15);
  await harness.deps.db.run(sql`UPDATE members SET level = 8 WHERE user_id = ${one.user.id}`);
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${other.user.id}`);
  const refused = await browser.ask('DELETE', url, { current_password: password });
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
  assert.match(refused.body.detail, /only owner of Left alone, With an inactive owner:/);
  await harness.deps.db.run(sql`UPDATE members SET level = 15 WHERE user_id = ${one.user.id}`);
  await harness.deps.db.run(sql`UPDATE users SET is_active = true WHERE id = ${other.user.id}`);
  assert.equal((await browser.ask('DELETE', url, { current_password: password })).status, 204);
});

test('one of two owners who delete their accounts at once stays', async () => {
  for (let round = 0; round < 6; round += 1) {
    await forgetAllAttempts(harness);
    const { organization, user: first } = await harness.newOrganization();
    const [one, other] = [await newPerson(harness), await newPerson(harness)];
    for (const user of [one, other]) await addMember(harness.deps, organization.id, user, 15);
    await harness.deps.db.run(sql`DELETE FROM users WHERE id = ${first.id}`);
    const browsers = [await signedIn(harness, one), await signedIn(harness, other)];
    const statuses = (
      await Promise.all(
        browsers.map((browser) => browser.ask('DELETE', url, { current_password: password })),
      )
    ).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [204, 409]);
  }
});

test('an organization that is busy for long does not hold up the others of who goes', async () => {
  const [home, busy] = [await harness.newOrganization(), await harness.newOrganization()];
  const user = await newPerson(harness);
  for (const { organization } of [home, busy])
    await addMember(harness.deps, organization.id, user, 8);
  const browser = await signedIn(harness, user);
  const refused = await harness.deps.db.transaction(async (tx) => {
    await tx.rows(sql`SELECT 1 FROM organizations WHERE id = ${busy.organization.id}::uuid
      FOR NO KEY UPDATE`);
    return Promise.race([
      browser.ask('DELETE', url, { current_password: password }),
      setTimeout(30_000, undefined, { ref: false }),
    ]);
  });
  assert.deepEqual([refused?.status, refused?.headers['retry-after']], [503, '5']);
  assert.ok(await exists(user));
  assert.equal((await browser.ask('DELETE', url, { current_password: password })).status, 204);
});

test('a person made owner while their account is deleted is not the last to go', async () => {
  const { organization, key, user: first } = await harness.newOrganization();
  const user = await newPerson(harness);
  await addMember(harness.deps, organization.id, user, 8);
  const browser = await signedIn(harness, user);
  const member = (uuid: string) => `/api/organizations/${organization.id}/members/${uuid}/`;
  const { db } = harness.deps;
  const [deletion, ...others] = await db.transaction(async (tx) => {
    await tx.run(sql`SELECT 1 FROM users WHERE id = ${user.id} FOR NO KEY UPDATE`);
    // The deletion has looked whom the organizations would be left with, and waits for the account.
    const going = browser.ask('DELETE', url, { current_password: password });
    await eventually('it did not come to that', async () => (await countWaiting(db)) === 1);
    const promotion = harness.request('PATCH', member(user.uuid), { key, body: { level: 15 } });
    const leaving = promotion.then(() => harness.request('DELETE', member(first.uuid), { key }));
    await eventually(
      'it did not come to that',
      async () => (await countWaiting(db)) === 2 || (await isSettled(leaving)),
    );
    return [going, promotion, leaving];
  });
  assert.equal((await deletion).status, 204);
  assert.deepEqual(
    await Promise.all(others.map(async (answer) => (await answer).status)),
    [404, 409],
  );
});

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}
