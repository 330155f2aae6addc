import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../test/depth.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer, Member } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const rounds = inDepth(8, 50);
const path = (organization_id: string, member: Member) =>
  `/api/organizations/${organization_id}/members/${member.user.uuid}/`;
const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status).sort();
const ownersOf = async (organization_id: string) =>
  (await harness.deps.db.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM members WHERE organization_id = ${organization_id}
      AND level = 15`,
  ))!.count;

async function twoOwners() {
  const { organization, ...first } = await harness.newOrganization();
  return {
    id: organization.id,
    owners: [first, await harness.newMember(organization.id, 15)] as [Member, Member],
  };
}

/**
 * Runs both requests at once, `rounds` times, each time in a new organization with two owners; one
 * owner must be left every time.
 */
async function race(
  ask: (id: string, own: Member, other: Member) => Promise<Answer>,
  outcomes: number[][],
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const { id, owners } = await twoOwners();
    const answers = await Promise.all([
      ask(id, owners[0], owners[1]),
      ask(id, owners[1], owners[0]),
    ]);
    assert.ok(
      outcomes.some((outcome) => outcome.join() === statusesOf(answers).join()),
      `${statusesOf(answers)}`,
    );
    assert.equal(await ownersOf(id), 1);
  }
}

test('one of two owners who leave at once stays', () =>
  race((id, own) => own.ask('DELETE', path(id, own)), [[204, 409]]));

test('one of two owners who demote each other at once stays owner', () =>
  race((id, own, other) => own.ask('PATCH', path(id, other), { level: 8 }), [[200, 403]]));

// The one who was removed is no member any more.
test('one of two owners who remove each other at once stays', () =>
  race((id, own, other) => own.ask('DELETE', path(id, other)), [[204, 404]]));

test('two owners who leave and demote each other at once leave one owner', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { id, owners } = await twoOwners();
    const [leaver, other] = owners;
    const answers = await Promise.all([
      leaver.ask('DELETE', path(id, leaver)),
      leaver.ask('PATCH', path(id, other), { level: 1 }),
      other.ask('DELETE', path(id, other)),
    ]);
    assert.ok(
      answers.every(({ status }) => [200, 204, 403, 404, 409].includes(status)),
      `${statusesOf(answers)}`,
    );
    assert.ok((await ownersOf(id)) >= 1);
  }
});

test('many owners who leave at once leave one', async () => {
  const { id, owners } = await twoOwners();
  const more = await Promise.all(Array.from({ length: 10 }, () => harness.newMember(id, 15)));
  const answers = await Promise.all(
    [...owners, ...more].map((own) => own.ask('DELETE', path(id, own))),
  );
  assert.deepEqual(statusesOf(answers), [...Array(11).fill(204), 409]);
  assert.equal(await ownersOf(id), 1);
});

test("a change that races with its maker's demotion comes before it or is refused", async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { organization, ...owner } = await harness.newOrganization();
    const administrator = await harness.newMember(organization.id, 8);
    const [demotion, change] = await Promise.all([
      owner.ask('PATCH', path(organization.id, administrator), { level: 1 }),
      administrator.ask('PATCH', `/api/organizations/${organization.id}/`, { name: 'Renamed' }),
    ]);
    assert.equal(demotion.status, 200);
    const log = await harness.deps.db.rows<{ scope: string }>(
      sql`SELECT scope FROM activity WHERE organization_id = ${organization.id} ORDER BY number`,
    );
    // The log is in the order of commits: what the administrator changed stands before their
    // demotion.
    assert.deepEqual(
      log.map(({ scope }) => scope),
      change.status === 200 ? ['organization', 'member'] : ['member'],
    );
    assert.ok([200, 403].includes(change.status));
  }
});

test('a change that races with the demand for a second factor precedes or is refused', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { organization, ...owner } = await harness.newOrganization();
    await harness.giveSecondFactor(owner.user);
    const member = await harness.newMember(organization.id, 8);
    const [demand, ...changes] = await Promise.all([
      owner.ask('PATCH', `/api/organizations/${organization.id}/`, { enforce_2fa: true }),
      ...['a', 'b', 'c'].map((name) =>
        member.ask('POST', `/api/organizations/${organization.id}/invites/`, {
          target_email: `${name}@example.com`,
        }),
      ),
    ]);
    assert.equal(demand.status, 200);
    const log = await harness.deps.db.rows<{ scope: string }>(
      sql`SELECT scope FROM activity WHERE organization_id = ${organization.id} ORDER BY number`,
    );
    assert.equal(log.at(-1)!.scope, 'organization', 'nothing was changed after the demand');
    for (const { status, body } of changes)
      assert.ok(status === 201 || body.code === 'second_factor_required', `${status}`);
  }
});

test("a change that races with its maker's removal comes before it or finds nothing", async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { organization, ...owner } = await harness.newOrganization();
    const administrator = await harness.newMember(organization.id, 8);
    const [removal, change] = await Promise.all([
      owner.ask('DELETE', path(organization.id, administrator)),
      administrator.ask('POST', `/api/organizations/${organization.id}/invites/`, {
        target_email: 'a@example.com',
      }),
    ]);
    assert.equal(removal.status, 204);
    const log = await harness.deps.db.rows<{ scope: string }>(
      sql`SELECT scope FROM activity WHERE organization_id = ${organization.id} ORDER BY number`,
    );
    assert.deepEqual(
      log.map(({ scope }) => scope),
      change.status === 201 ? ['invite', 'member'] : ['member'],
    );
    assert.ok([201, 404].includes(change.status));
  }
});
