import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  domainsPath,
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../test/factories/people/domains.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import type { DomainRow } from './schema.ts';

const world = aroundTests(openDomainWorld);

const claim = (home: TestOrganization, domain: string) =>
  home.ask('POST', domainsPath(home), { domain });
const isFound = async (home: TestOrganization, domain: DomainRow) =>
  (await home.ask('GET', domainsPath(home, domain))).status === 200;

/** Puts a claim where the server's look-ups would have led it. */
async function put(
  domain: DomainRow,
  state: DomainRow['verification']['state'],
  next_check_at: string | null,
): Promise<void> {
  await world.harness.deps.db.run(
    sql`UPDATE domains SET state = ${state}, next_check_at = ${next_check_at}::timestamptz
      WHERE id = ${domain.id}`,
  );
}

test('one of several organizations that claim a name at once gets it', async () => {
  const homes = [await world.harness.newOrganization(), await world.harness.newOrganization()];
  for (let round = 1; round <= 20; round += 1) {
    const answers = await Promise.all(homes.map((home) => claim(home, `race-${round}.test`)));
    assert.deepEqual(
      answers.map(({ status, body }) => `${status} ${body.code ?? ''}`).sort(),
      ['201 ', '400 unique'],
      `round ${round}`,
    );
  }
  const counts = await Promise.all(
    homes.map(async (home) => (await home.ask('GET', domainsPath(home))).body.count),
  );
  assert.equal(counts[0] + counts[1], 20);
});

test('a claim holds its name while the server looks it up, but not longer', async () => {
  const cases: [DomainRow['verification']['state'], string | null, boolean][] = [
    ['pending', '2030-01-01T00:01:00Z', true],
    ['pending', '2029-01-01T00:00:00Z', true],
    ['verified', '2030-01-02T00:00:00Z', true],
    ['lapsed', '2030-01-02T00:00:00Z', true],
    ['lapsed', null, false],
    ['failed', null, false],
  ];
  for (const [state, next_check_at, is_held] of cases) {
    const [home, other] = [
      await world.harness.newOrganization(),
      await world.harness.newOrganization(),
    ];
    const domain = await world.claim(home);
    await put(domain, state, next_check_at);
    assert.equal(
      (await claim(home, domain.domain)).body.code,
      'unique',
      'not even its own organization has it twice',
    );
    const answer = await claim(other, domain.domain);
    assert.deepEqual(
      [answer.status, await isFound(home, domain)],
      [is_held ? 400 : 201, is_held],
      `${state} ${next_check_at}`,
    );
    if (!is_held)
      assert.notEqual(answer.body.verification_challenge, domain.verification_challenge);
  }
});

test('an organization that loses a name learns it, in its log and by mail', async () => {
  const [home, other] = [
    await world.harness.newOrganization({ name: 'Acme' }),
    await world.harness.newOrganization(),
  ];
  const domain = await world.claim(home);
  await put(domain, 'failed', null);
  const dry = await other.ask('POST', `${domainsPath(other)}?validate_only=true`, {
    domain: domain.domain,
  });
  assert.deepEqual([dry.status, await isFound(home, domain)], [200, true]);
  assert.equal((await claim(other, domain.domain)).status, 201);
  const entries = await world.harness.deps.db.rows<{
    organization_id: string;
    activity: string;
    user_id: number | null;
  }>(
    sql`SELECT organization_id, activity, user_id FROM activity WHERE scope = 'domain'
      AND item_name = ${domain.domain} ORDER BY id`,
  );
  assert.deepEqual(
    entries.map(({ organization_id, activity, user_id }) => [organization_id, activity, user_id]),
    [
      [home.organization.id, 'created', home.user.id],
      [home.organization.id, 'deleted', null],
      [other.organization.id, 'created', other.user.id],
    ],
  );
  const subject = `${domain.domain} was claimed by another organization`;
  const [mail] = await world.mailed(home.user.email, subject, 1);
  assert.match(mail!.content.text ?? '', /Acme/);
});

test('one of several organizations gets a free name, and keeps it with a proof', async () => {
  const homes = await Promise.all([1, 2, 3].map(() => world.harness.newOrganization()));
  const [owner, ...takers] = homes as [TestOrganization, ...TestOrganization[]];
  for (let round = 1; round <= 5; round += 1) {
    const domain = await world.claim(owner);
    await put(domain, 'failed', null);
    const answers = await Promise.all(takers.map((home) => claim(home, domain.domain)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400], `round ${round}`);
  }
  for (let round = 1; round <= 5; round += 1) {
    const domain = await world.claim(owner);
    await put(domain, 'failed', null);
    world.resolvers[0]!.set(proofNameOf(domain), { records: [proofOf(domain)] });
    const path = `${domainsPath(owner, domain)}verify/`;
    const [verify, taken] = await Promise.all([
      owner.ask('POST', path),
      claim(takers[0]!, domain.domain),
    ]);
    assert.deepEqual(
      [verify.status, taken.status],
      verify.status === 200 ? [200, 400] : [404, 201],
      `round ${round}`,
    );
  }
});
