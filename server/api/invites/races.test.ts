import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../test/depth.ts';
import { eventually } from '../../../test/eventually.ts';
import { setCookieOf } from '../../../test/factories/people/people.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';

const password = 'violet kettle harbour 92';
const rounds = inDepth(2, 20);
const harness = shareHarness({ clickhouse: false });

type Link = { id: string; token: string };
const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status).sort();
const accept = ({ id, token }: Link, key?: string) =>
  harness.request('POST', `/api/invites/${id}/accept/`, {
    ...(key === undefined ? {} : { key }),
    body: { token, password },
  });
const membersOf = async ({ organization }: TestOrganization) =>
  (await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM members WHERE organization_id = ${organization.id}`,
  ))!.count;

async function invite(
  home: TestOrganization,
  target_email: string = `${randomUUID()}@example.com`,
): Promise<Link> {
  const { body } = await home.ask('POST', `/api/organizations/${home.organization.id}/invites/`, {
    target_email,
  });
  return { id: body.id, token: new URL(body.link).searchParams.get('token')! };
}

test('one of several sign-ups with one invite joins: one account, one session', async () => {
  for (let count = inDepth(4, 2); count <= inDepth(4, 8); count += 1) {
    const home = await harness.newOrganization();
    const target_email = `${randomUUID()}@example.com`;
    const link = await invite(home, target_email);
    const answers = await Promise.all(Array.from({ length: count }, () => accept(link)));
    assert.deepEqual(statusesOf(answers), [201, ...Array(count - 1).fill(404)]);
    assert.equal(answers.filter(({ headers }) => headers['set-cookie'] !== undefined).length, 1);
    assert.equal(await membersOf(home), 2);
    const sessions = await harness.deps.db.rows(
      sql`SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE u.email = ${target_email}`,
    );
    assert.equal(sessions.length, 1);
  }
});

test('one of several acceptances with one account joins', async () => {
  for (let count = inDepth(6, 2); count <= inDepth(6, 10); count += 1) {
    const [home, own] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
    const link = await invite(home, own.user.email);
    const answers = await Promise.all(Array.from({ length: count }, () => accept(link, own.key)));
    assert.deepEqual(statusesOf(answers), [201, ...Array(count - 1).fill(404)]);
    assert.equal(await membersOf(home), 2);
  }
});

test('invites of one address, accepted at once in two places, create one account', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const homes = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
    const target_email = `${randomUUID()}@example.com`;
    const links = [
      await invite(homes[0], target_email),
      await invite(homes[1], target_email.toUpperCase()),
    ] as const;
    const answers = await Promise.all(links.map((link) => accept(link)));
    // The later one has to sign in with the account that the earlier one created.
    assert.deepEqual(statusesOf(answers), [201, 401]);
    const later = answers.findIndex(({ status }) => status === 401);
    const cookie = setCookieOf(answers[1 - later]!)!.split(';')[0]!;
    const joined = await harness.request('POST', `/api/invites/${links[later]!.id}/accept/`, {
      headers: { cookie },
      body: { token: links[later]!.token },
    });
    assert.equal(joined.status, 201);
  }
});

test('an acceptance that races with the end of its invite wins or finds nothing', async () => {
  type Rival = (home: TestOrganization, link: Link, target_email: string) => Promise<Answer>;
  const url = (home: TestOrganization) => `/api/organizations/${home.organization.id}/invites/`;
  const rivals: [string, Rival, number[], number[]][] = [
    ['deleted', (home, { id }) => home.ask('DELETE', `${url(home)}${id}/`), [404], [204]],
    ['sent again', (home, { id }) => home.ask('POST', `${url(home)}${id}/resend/`), [404], [200]],
    [
      'replaced',
      (home, _link, target_email) => home.ask('POST', url(home), { target_email }),
      [400],
      [201],
    ],
  ];
  for (const [name, rival, after_acceptance, before_acceptance] of rivals)
    for (let round = 0; round < rounds; round += 1) {
      const [home, own] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
      const link = await invite(home, own.user.email);
      const [acceptance, other] = await Promise.all([
        accept(link, own.key),
        rival(home, link, own.user.email),
      ]);
      if (acceptance.status === 201)
        assert.ok(after_acceptance.includes(other.status), `${name}: ${other.status}`);
      else
        assert.deepEqual(
          [acceptance.status, before_acceptance.includes(other.status)],
          [404, true],
          name,
        );
      assert.equal(await membersOf(home), acceptance.status === 201 ? 2 : 1, name);
    }
});

test('concurrent invites for one address leave one, and its link works', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const home = await harness.newOrganization();
    const target_email = `${randomUUID()}@example.com`;
    const links = await Promise.all(Array.from({ length: 8 }, () => invite(home, target_email)));
    const looks = await Promise.all(
      links.map(({ id, token }) => harness.request('GET', `/api/invites/${id}/?token=${token}`)),
    );
    assert.deepEqual(statusesOf(looks), [200, ...Array(7).fill(404)]);
  }
});

test('an account that is moved to another address joins nothing by the one before', async () => {
  const [home, own] = await Promise.all([harness.newOrganization(), harness.newOrganization()]);
  const link = await invite(home, own.user.email);
  const { db } = harness.deps;
  // As a directory does: it has seen no other organization, and holds the account until it commits.
  const { accepting } = await db.transaction(async (tx) => {
    await tx.run(
      sql`UPDATE users SET email = ${`${randomUUID()}@example.com`} WHERE id = ${own.user.id}`,
    );
    let is_answered = false;
    const answer = accept(link, own.key).finally(() => (is_answered = true));
    await eventually(
      'it did not come to that',
      async () => is_answered || (await countWaiting(db)) === 1,
    );
    return { accepting: answer };
  });
  assert.equal((await accepting).status, 403);
  assert.equal(await membersOf(home), 1);
});
