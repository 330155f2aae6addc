import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { newDirectory } from '../../../test/factories/people/directories.ts';
import { domainsPath, openDomainWorld } from '../../../test/factories/people/domains.ts';
import { openBrowser } from '../../../test/factories/people/people.ts';
import { openByProvider } from '../../../test/factories/people/provider_session.ts';
import { refusalOf } from '../../../test/refusal.ts';
import { testIdentityProvider } from '../../../test/saml/identity_provider.ts';
import { challengeName } from './proof/challenge.ts';
import { settleAnswer } from './proof/proof.ts';

const world = aroundTests(openDomainWorld);
const acme = testIdentityProvider('acme');
const provider = {
  saml_entity_id: acme.entity_id,
  saml_acs_url: acme.sso_url,
  saml_x509_cert: acme.certificate.trim(),
};
let names = 0;
const newName = () => `renamed-${(names += 1)}.test`;

/** An organization with a proved domain that has a provider. */
async function newHome() {
  const home = await world.harness.newOrganization();
  const domain = await world.prove(home, await world.claim(home));
  assert.equal((await world.change(home, domain, provider)).status, 200);
  return { home, domain, url: domainsPath(home, domain) };
}

test('another name needs a new proof; the provider stays, and is closed until then', async () => {
  const { home, domain, url } = await newHome();
  await world.change(home, domain, { jit_provisioning_enabled: true });
  const name = newName();
  const answer = await world.change(home, domain, { domain: ` ${name.toUpperCase()}. ` });
  assert.equal(answer.status, 200, answer.text);
  const { id, is_verified, verified_at, verification, verification_challenge } = answer.body;
  assert.deepEqual(
    [id, answer.body.domain, is_verified, verified_at, verification.state, verification.answers],
    [domain.id, name, false, null, 'pending', []],
  );
  assert.match(verification.reason, new RegExp(`_sluice-challenge\\.${name}`));
  assert.notEqual(verification_challenge, domain.verification_challenge);
  const { has_saml, jit_provisioning_enabled, saml_entity_id } = answer.body;
  assert.deepEqual(
    [has_saml, jit_provisioning_enabled, saml_entity_id],
    [true, true, acme.entity_id],
  );

  // The old name is free, and what was published for it proves nothing any more.
  const other = await world.harness.newOrganization();
  await world.claim(other, domain.domain);
  assert.equal((await world.verify(home, answer.body)).is_verified, false);
  assert.equal((await world.prove(home, answer.body)).is_verified, true);

  const log = await home.ask('GET', `${url.split('domains')[0]}activity/?item_id=${domain.id}`);
  const renamed = log.body.results.find(({ changes }: any) =>
    changes.some(({ field }: any) => field === 'domain'),
  );
  assert.equal(renamed.activity, 'updated');
  const [mail] = await world.mailed(home.user.email, domain.domain, 1);
  assert.ok(mail);
});

test('the same name in any spelling changes nothing', async () => {
  const { home, domain, url } = await newHome();
  const before = await home.ask('GET', url);
  for (const body of [
    before.body,
    { domain: domain.domain.toUpperCase() },
    { domain: `${domain.domain}.` },
  ]) {
    const answer = await home.ask('PUT', url, body);
    assert.deepEqual([answer.status, answer.headers['etag']], [200, before.headers['etag']]);
  }
});

test('an impossible name is refused, a free one is taken over', async () => {
  const { home, domain } = await newHome();
  const own = await world.claim(home);
  const other = await world.harness.newOrganization();
  const held = await world.claim(other);
  for (const [name, code] of [
    [own.domain, 'unique'],
    [held.domain, 'unique'],
    ['gmail.com', 'invalid_input'],
    ['', 'blank'],
    ['https://example.com', 'invalid_input'],
  ])
    assert.deepEqual(refusalOf(await world.change(home, domain, { domain: name })), [
      400,
      'domain',
      code,
    ]);
  assert.equal((await world.change(home, domain, { domain: null })).status, 400);
  await world.harness.deps.db.run(
    sql`UPDATE domains SET state = 'failed', next_check_at = NULL WHERE id = ${held.id}`,
  );
  assert.equal((await world.change(home, domain, { domain: held.domain })).status, 200);
  assert.equal((await other.ask('GET', domainsPath(other, held))).status, 404);
});

test('one of several domains that get one name at once keeps it', async () => {
  const homes = await Promise.all(Array.from({ length: 3 }, newHome));
  for (let round = 0; round < 5; round += 1) {
    const name = newName();
    const answers = await Promise.all(
      homes.map(({ home, domain }) => world.change(home, domain, { domain: name })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  }
});

test('an enforced domain, and one with a directory, keep their name', async () => {
  const { home, domain, url } = await newHome();
  await world.change(home, domain, { sso_enforcement: 'saml' });
  const enforced = await world.change(home, domain, { domain: newName() });
  assert.deepEqual(
    [enforced.status, /`sso_enforcement`/.test(enforced.body.detail)],
    [409, true],
    enforced.text,
  );
  // Both at once are the same as one after the other.
  const both = await world.change(home, domain, { domain: newName(), sso_enforcement: '' });
  assert.deepEqual([both.status, both.body.sso_enforcement], [200, '']);
  const early = await home.ask('PATCH', url, { domain: newName(), sso_enforcement: 'saml' });
  assert.ok(early.status === 400 || early.status === 409, early.text);

  const directory = await newDirectory(world.harness);
  const path = `/api/organizations/${directory.organization.id}/domains/${directory.domain.id}/`;
  const attached = await directory.ask('PATCH', path, { domain: newName() });
  assert.deepEqual([attached.status, /directory/.test(attached.body.detail)], [409, true]);
  assert.equal((await directory.ask('GET', path)).body.domain, directory.domain.domain);
});

test('a rename by an administrator waits for an owner, who is asked again', async () => {
  const { home, domain, url } = await newHome();
  const administrator = await world.harness.newMember(home.organization.id, 8);
  const owner = openBrowser(world.harness, await world.harness.newSession(home.user));
  const name = newName();
  const waiting = await administrator.ask('PATCH', url, { domain: name });
  assert.deepEqual(
    [waiting.status, waiting.body.domain, waiting.body.is_verified, waiting.body.pending_changes],
    [200, domain.domain, true, { domain: name }],
  );
  const back = await administrator.ask('PATCH', url, { domain: domain.domain });
  assert.equal(back.body.pending_changes, null);
  await administrator.ask('PATCH', url, { domain: name });
  // It may have become impossible meanwhile.
  await world.change(home, domain, { sso_enforcement: 'saml' });
  const confirm = `${url}pending_changes/confirm/`;
  assert.equal((await owner.ask('POST', confirm, {})).status, 409);
  await world.change(home, domain, { sso_enforcement: '' });
  const confirmed = await owner.ask('POST', confirm, {});
  assert.deepEqual(
    [confirmed.status, confirmed.body.domain, confirmed.body.is_verified],
    [200, name, false],
    confirmed.text,
  );
});

test('a rename closes the sessions of the old name’s provider', async () => {
  const { home, domain } = await newHome();
  const { db } = world.harness.deps;
  const member = await world.harness.newMember(home.organization.id, 1);
  const browser = openBrowser(world.harness, await world.harness.newSession(member.user));
  await openByProvider(world.harness, member.user, domain);
  const path = `/api/organizations/${home.organization.id}/`;
  assert.equal((await browser.ask('GET', path)).status, 200);
  const accepting = await world.harness.newOrganization();
  await db.run(sql`INSERT INTO accepted_providers (organization_id, domain_id, created_at)
    VALUES (${accepting.organization.id}, ${domain.id}, now())`);
  await db.run(sql`INSERT INTO social_identities (id, user_id, provider, subject, created_at,
      last_used_at)
    VALUES (gen_random_uuid(), ${member.user.id}, ${`saml:${domain.id}`}, 'them', now(), now())`);
  const renamed = await world.change(home, domain, { domain: newName() });
  assert.equal((await world.prove(home, renamed.body)).is_verified, true);
  assert.equal((await browser.ask('GET', path)).status, 403);
  const left = await db.row(sql`SELECT
    (SELECT count(*)::integer FROM accepted_providers WHERE domain_id = ${domain.id}) AS accepted,
    (SELECT count(*)::integer FROM social_identities
      WHERE provider = ${`saml:${domain.id}`}) AS linked`);
  assert.deepEqual(left, { accepted: 0, linked: 0 });
});

test('an answer of the old name proves nothing of the new one, whatever it says', async () => {
  const { home, domain } = await newHome();
  const { db, dns, clock } = world.harness.deps;
  const renamed = (await world.change(home, domain, { domain: newName() })).body;
  // Whoever has the old name publishes the new challenge there while a look-up is in progress.
  const strings = [renamed.verification_challenge];
  world.resolvers[0]!.set(challengeName(domain.domain), { records: [{ type: 'TXT', strings }] });
  const looked_up = await dns.lookupTxt(challengeName(domain.domain));
  const settled = await db.transaction((tx) =>
    settleAnswer(tx, home.organization.id, domain, looked_up, clock.now()),
  );
  assert.equal(settled, undefined);
  assert.equal((await world.read(home, domain)).is_verified, false);
});
