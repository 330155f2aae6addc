import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import {
  clock,
  harness,
  openAroundTests,
  server,
} from '../../../test/factories/people/people_around_tests.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';

const hour_ms = 3_600_000;
openAroundTests('mail');
beforeEach(() => server.setFault(undefined));

const address = () => `${randomUUID()}@example.org`;
const base = ({ organization }: TestOrganization) =>
  `/api/organizations/${organization.id}/invites/`;
const invite = (home: TestOrganization, target_email: string, query = '') =>
  home.ask('POST', `${base(home)}${query}`, { target_email });
const resend = (home: TestOrganization, id: string) =>
  home.ask('POST', `${base(home)}${id}/resend/`);
const linksTo = (to: string) =>
  server.mails
    .filter((one) => one.to.includes(to))
    .map(({ content }) => /^http\S+\/invite\/\S+$/m.exec(content.text ?? '')?.[0]);
const listed = async (home: TestOrganization, id: string) =>
  (await home.ask('GET', base(home))).body.results.find((one: any) => one.id === id);
/** Tries everything again that waits. */
const sendLater = () => {
  server.setFault(undefined);
  clock.pass(60_000);
  return harness.deps.outbox.sendDue();
};

test('an invite that the relay did not take is mailed later, and the list says so', async () => {
  const home = await harness.newOrganization();
  server.setFault('reject_message');
  const to = address();
  const created = await invite(home, to);
  assert.deepEqual([created.status, created.body.emailing_attempt_made], [201, false]);
  assert.equal(await sendLater(), 1);
  assert.deepEqual(linksTo(to), [created.body.link]);
  const { emailing_attempt_made, updated_at } = await listed(home, created.body.id);
  assert.equal(emailing_attempt_made, true);
  assert.ok(updated_at > created.body.updated_at);
  assert.equal(await sendLater(), 0);
});

test('a mail with a void link is not sent later: taken back, replaced, sent again', async () => {
  const home = await harness.newOrganization();
  const ends: ((id: string, to: string) => Promise<{ status: number }>)[] = [
    (id) => home.ask('DELETE', `${base(home)}${id}/`),
    (_id, to) => invite(home, to),
    (id) => resend(home, id),
    () => home.ask('DELETE', `/api/organizations/${home.organization.id}/`),
  ];
  for (const end of ends) {
    server.setFault('reject_recipient');
    const to = address();
    const created = await invite(home, to);
    assert.equal(created.status, 201);
    server.setFault(undefined);
    assert.ok((await end(created.body.id, to)).status < 300);
    await sendLater();
    assert.ok(!linksTo(to).includes(created.body.link));
    assert.ok(linksTo(to).length <= 1);
  }
});

test('an invite that has expired is not mailed', async () => {
  const home = await harness.newOrganization();
  server.setFault('reject_recipient');
  const to = address();
  assert.equal((await invite(home, to)).status, 201);
  clock.pass(72 * hour_ms);
  await sendLater();
  assert.deepEqual(linksTo(to), []);
});

test('a person gets at most ten invites a day, from any senders', async () => {
  const homes = await Promise.all(Array.from({ length: 4 }, () => harness.newOrganization()));
  const [one, other, third, fourth] = homes as [
    TestOrganization,
    TestOrganization,
    TestOrganization,
    TestOrganization,
  ];
  const to = address();
  const { id } = (await invite(one, to)).body;
  assert.equal((await invite(other, to.toUpperCase())).status, 201);
  for (let sent = 2; sent < 10; sent += 1) {
    assert.equal((await invite(third, to, '?validate_only=true')).status, 200);
    assert.equal((await resend(one, id)).status, 200);
  }
  const refused = await invite(third, to);
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.attr, refused.headers['retry-after']],
    [429, 'throttled', 'target_email', '86400'],
  );
  assert.equal(
    refused.body.detail,
    'This address got 10 invites within a day, from all organizations together: try again in ' +
      '86400 seconds.',
  );
  const again = await resend(one, id);
  assert.deepEqual([again.status, again.body.attr], [429, null]);
  // The invite that could not be sent again is as it was.
  assert.equal((await listed(one, id)).emailing_attempt_made, true);
  const beside = address();
  const body = [{ target_email: beside }, { target_email: to }];
  const bulk = await fourth.ask('POST', `${base(fourth)}bulk/`, body);
  assert.deepEqual(
    [bulk.status, bulk.body.errors.map((error: any) => error.attr)],
    [429, ['1__target_email']],
  );
  const counted = await harness.deps.db.rows(
    sql`SELECT attempts FROM attempts WHERE subject LIKE 'invite to %'`,
  );
  assert.deepEqual(counted, [{ attempts: 10 }], 'what is refused is not counted');
  clock.pass(24 * hour_ms);
  assert.equal((await invite(third, to)).status, 201);
});

test('bulks of the same addresses at once do not hinder each other', async () => {
  const addresses = Array.from({ length: 5 }, address);
  const { db } = harness.deps;
  const [one, other, third] = await Promise.all([1, 2, 3].map(() => harness.newOrganization()));
  const bulk = (home: TestOrganization, given: string[]) => {
    const body = given.map((target_email) => ({ target_email }));
    return home.ask('POST', `${base(home)}bulk/`, body);
  };
  assert.equal((await invite(third!, addresses[2]!)).status, 201);
  // The one in the middle is held until both bulks wait, each with what it has taken by then.
  const sent = await db.transaction(async (tx) => {
    await tx.row(sql`SELECT 1 FROM attempts WHERE subject LIKE 'invite to %' FOR UPDATE`);
    const answers = [bulk(one!, addresses), bulk(other!, addresses.toReversed())];
    await eventually('The bulks do not wait.', async () => (await countWaiting(db)) === 2);
    return answers;
  });
  assert.deepEqual(
    (await Promise.all(sent)).map(({ status }) => status),
    [200, 200],
  );
});
