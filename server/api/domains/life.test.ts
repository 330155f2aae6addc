import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { is_deep } from '../../../test/depth.ts';
import type { DnsBehaviour } from '../../../test/servers/dns_server.ts';
import {
  domainsPath,
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../test/factories/people/domains.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { isoInstant } from '../../platform/clock.ts';
import { recheckDomains } from './proof/recheck.ts';
import type { DomainRow } from './schema.ts';
import { findVerifiedDomain } from './store.ts';

const hour_ms = 3_600_000;
const day_ms = 24 * hour_ms;

const world = aroundTests(openDomainWorld);
// Those of the tests before would be due as well.
beforeEach(() => world.harness.deps.db.run(sql`DELETE FROM domains`));

const wire = isoInstant;
const answer = (domain: DomainRow, behaviour: DnsBehaviour) =>
  world.resolvers[0]!.set(proofNameOf(domain), behaviour);
const state = ({ verification }: DomainRow) => verification.state;

/** Goes to the next look-up that the server has planned and lets it happen. */
async function nextCheck(home: TestOrganization, domain: DomainRow): Promise<DomainRow> {
  const row = await world.harness.deps.db.row<{ next_check_at: string | null }>(
    sql`SELECT next_check_at FROM domains WHERE id = ${domain.id}`,
  );
  assert.notEqual(row!.next_check_at, null);
  world.goTo(Date.parse(row!.next_check_at!));
  assert.equal(await recheckDomains(world.harness.deps), 1);
  return world.read(home, domain);
}

/** Lets the look-up that is due happen as late as then. */
async function nextCheckAfter(
  home: TestOrganization,
  domain: DomainRow,
  instant: number,
): Promise<DomainRow> {
  world.goTo(instant);
  assert.equal(await recheckDomains(world.harness.deps), 1);
  return world.read(home, domain);
}

/** Returns the entries of the log about the domain since its claim: the activity and the person. */
async function logged(domain: DomainRow): Promise<string[]> {
  const rows = await world.harness.deps.db.rows<{ activity: string; user_id: number | null }>(
    sql`SELECT activity, user_id FROM activity WHERE scope = 'domain' AND item_id = ${domain.id}
      ORDER BY number`,
  );
  return rows.map(
    ({ activity, user_id }) => `${activity} by ${user_id === null ? 'server' : 'user'}`,
  );
}

/**
 * The subjects of the mails about the domain's proof to the address; waits until there
 * are so many. Owners also get one of what somebody changed.
 */
async function mailed(
  domain: DomainRow,
  address: string,
  count: number,
): Promise<(string | undefined)[]> {
  return eventually(`There are not ${count} mails.`, async () => {
    const subjects = (await world.mailed(address, domain.domain, count))
      .map(({ content }) => content.subject)
      .filter((subject) => !subject?.startsWith('The domain '));
    return subjects.length >= count && subjects;
  });
}

test('the whole life: pending, verified, missing, lapsed, verified again', async () => {
  const home = await world.harness.newOrganization({ name: 'Acme <b>' });
  const administrator = await world.harness.newMember(home.organization.id, 8);
  const member = await world.harness.newMember(home.organization.id, 1);
  const gone = await world.harness.newMember(home.organization.id, 15);
  const { db, config } = world.harness.deps;
  await db.run(sql`UPDATE users SET is_active = false WHERE id = ${gone.user.id}`);
  const begin = world.now();
  const domain = await world.claim(home);
  assert.equal(domain.verification.next_check_at, wire(begin + 60_000));
  assert.equal(await recheckDomains(world.harness.deps), 0);

  const first = await nextCheck(home, domain);
  assert.deepEqual(
    [state(first), first.verification.last_checked_at, first.verification.next_check_at],
    ['pending', wire(begin + 60_000), wire(begin + 180_000)],
  );
  assert.match(first.verification.reason, /does not exist/);

  answer(domain, { records: [proofOf(domain)] });
  const verified = await nextCheck(home, domain);
  const verified_at = begin + 180_000;
  assert.deepEqual(
    [state(verified), verified.is_verified, verified.verified_at],
    ['verified', true, wire(verified_at)],
  );
  assert.equal(verified.verification.next_check_at, wire(verified_at + day_ms));
  assert.equal((await world.change(home, domain, { jit_provisioning_enabled: true })).status, 200);
  assert.equal(
    (await findVerifiedDomain(db, config, domain.domain))?.jit_provisioning_enabled,
    true,
  );

  await mailed(domain, home.user.email, 1);

  const daily = await nextCheck(home, domain);
  assert.deepEqual([state(daily), daily.verified_at], ['verified', wire(verified_at)]);

  answer(domain, {});
  let last = await nextCheck(home, domain);
  const missing_since = world.now();
  const lapses_at = missing_since + 72 * hour_ms;
  assert.deepEqual(
    [state(last), last.verification.next_check_at],
    ['verified', wire(missing_since + hour_ms)],
  );
  assert.ok(last.verification.reason.includes(isoInstant(lapses_at)));
  // An outage in the middle neither ends the 72 hours nor lapses the domain at their end.
  answer(domain, { rcode: 'SERVFAIL' });
  world.goTo(lapses_at - hour_ms);
  assert.equal(await recheckDomains(world.harness.deps), 1);
  last = await nextCheck(home, domain);
  assert.deepEqual([state(last), world.now()], ['verified', lapses_at]);
  await mailed(domain, home.user.email, 2);
  answer(domain, {});
  const lapsed = await nextCheck(home, domain);
  assert.deepEqual(
    [state(lapsed), lapsed.is_verified, lapsed.verified_at, lapsed.jit_provisioning_enabled],
    ['lapsed', false, null, true],
  );
  assert.equal(await findVerifiedDomain(db, config, domain.domain), undefined);
  const enforced = await world.change(home, domain, { sso_enforcement: 'saml' });
  assert.equal(enforced.body.code, 'verification_required');
  const put = await home.ask('PUT', domainsPath(home, domain), lapsed);
  assert.deepEqual([put.status, put.body], [200, lapsed]);

  await mailed(domain, home.user.email, 3);
  answer(domain, { records: [proofOf(domain)] });
  const again = await nextCheck(home, domain);
  assert.deepEqual(
    [state(again), again.is_verified, again.verified_at],
    ['verified', true, wire(world.now())],
  );
  assert.equal(
    (await findVerifiedDomain(db, config, domain.domain))?.jit_provisioning_enabled,
    true,
  );

  assert.deepEqual(await logged(domain), [
    'created by user',
    'verified by server',
    'updated by user',
    'lapsed by server',
    'verified by server',
  ]);
  const verified_subject = `${domain.domain} is verified`;
  const subjects = [
    verified_subject,
    `The DNS record of ${domain.domain} is missing`,
    `${domain.domain} is no longer verified`,
    verified_subject,
  ];
  for (const { user } of [home, administrator])
    assert.deepEqual((await mailed(domain, user.email, 4)).toSorted(), subjects.toSorted());
  for (const { user } of [member, gone]) assert.deepEqual(await mailed(domain, user.email, 0), []);
  const mail = world.mail.mails.find(({ content }) => content.subject === subjects[2]);
  assert.ok(
    mail?.content.text?.includes(
      `Name: ${proofNameOf(domain)}\nValue: ${domain.verification_challenge}`,
    ),
  );
  assert.ok(mail?.content.text?.includes(domainsPath(home, domain)));
  assert.ok(mail?.content.html?.includes('Acme &lt;b&gt;'));
});

test('a missing record is notified after an hour, once, unless it is back by then', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  const proof = { records: [proofOf(domain)] };
  answer(domain, proof);
  await world.verify(home, domain);
  answer(domain, {});
  await nextCheck(home, domain);
  answer(domain, proof);
  assert.doesNotMatch((await nextCheck(home, domain)).verification.reason, /lapses/);
  answer(domain, {});
  await nextCheck(home, domain);
  world.goTo(world.now() + 30 * 60_000);
  await world.verify(home, domain);
  for (let check = 1; check <= 4; check += 1) await nextCheck(home, domain);
  answer(domain, proof);
  await nextCheck(home, domain);
  answer(domain, { rcode: 'NXDOMAIN' });
  for (let check = 1; check <= 3; check += 1) await nextCheck(home, domain);
  const missing = `The DNS record of ${domain.domain} is missing`;
  assert.deepEqual(await mailed(domain, home.user.email, 3), [
    `${domain.domain} is verified`,
    missing,
    missing,
  ]);
  assert.deepEqual(await logged(domain), [
    'created by user',
    'verified by user',
    'checked by user',
  ]);
});

test('a domain without proof fails after 30 days, and can then be proved by hand', async () => {
  for (const [behaviour, isFollowed] of [
    [{}, true],
    [{ rcode: 'SERVFAIL' }, is_deep],
  ] as const) {
    const home = await world.harness.newOrganization();
    const domain = await world.claim(home);
    const end = world.now() + 30 * day_ms;
    answer(domain, behaviour);
    let checks = 0;
    let row = domain;
    // The way there is the same whatever DNS says: it is followed once.
    if (!isFollowed) row = await nextCheckAfter(home, domain, end - day_ms);
    while (row.verification.next_check_at !== null) {
      row = await nextCheck(home, row);
      checks += 1;
    }
    assert.deepEqual([state(row), world.now(), row.is_verified], ['failed', end, false]);
    if (isFollowed) assert.ok(checks > 60 && checks < 80, `${checks} look-ups`);
    assert.match(row.verification.reason, /start the check yourself once the record exists\.$/);
    world.goTo(end + day_ms);
    assert.equal(await recheckDomains(world.harness.deps), 0);
    assert.deepEqual(await mailed(domain, home.user.email, 1), [
      `${domain.domain} could not be verified`,
    ]);
    answer(domain, { records: [proofOf(domain)] });
    assert.equal(state(await world.verify(home, domain)), 'verified');
    assert.deepEqual(await logged(domain), [
      'created by user',
      'failed by server',
      'verified by user',
    ]);
    await home.ask('DELETE', domainsPath(home, domain));
  }
});

test('a lapsed domain is looked up for 30 days more; then its name is free', async () => {
  const [home, other] = [
    await world.harness.newOrganization(),
    await world.harness.newOrganization(),
  ];
  const domain = await world.claim(home);
  answer(domain, { records: [proofOf(domain)] });
  await world.verify(home, domain);
  answer(domain, {});
  let row = await world.read(home, domain);
  while (state(row) !== 'lapsed') row = await nextCheck(home, domain);
  const lapsed_at = world.now();
  const claim = () => other.ask('POST', domainsPath(other), { domain: domain.domain });
  assert.equal((await claim()).body.code, 'unique');
  if (!is_deep) row = await nextCheckAfter(home, domain, lapsed_at + 29 * day_ms);
  while (row.verification.next_check_at !== null) row = await nextCheck(home, domain);
  assert.deepEqual([state(row), world.now()], ['lapsed', lapsed_at + 30 * day_ms]);
  assert.equal((await claim()).status, 201);
});

test('one of several concurrent look-ups by hand verifies, and mails people once', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  answer(domain, { records: [proofOf(domain)] });
  const rows = await Promise.all([1, 2, 3, 4].map(() => world.verify(home, domain)));
  assert.deepEqual(rows.map(state), Array(4).fill('verified'));
  assert.deepEqual((await logged(domain)).sort(), [
    'checked by user',
    'checked by user',
    'checked by user',
    'created by user',
    'verified by user',
  ]);
  assert.deepEqual(await mailed(domain, home.user.email, 1), [`${domain.domain} is verified`]);
});
