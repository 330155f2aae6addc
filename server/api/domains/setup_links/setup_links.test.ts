import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { domainsPath, openDomainWorld } from '../../../../test/factories/people/domains.ts';
import {
  newLinkHome,
  provider,
  publishProof,
  through as throughLink,
} from '../../../../test/factories/people/setup_links.ts';
import type { LinkHome } from '../../../../test/factories/people/setup_links.ts';
import { faultsOf } from '../../../../test/watchers/faults_of.ts';

const world = aroundTests(openDomainWorld);
const day_ms = 24 * 3_600_000;

const newHome = () => newLinkHome(world);
const through = (...[url, name, body, sent]: LinkAsked) =>
  throughLink(world.harness, url, name, body, sent);
type LinkAsked = [
  url: string,
  name: string,
  body?: object,
  sent?: { headers?: Record<string, string> },
];
const publish = (domain: LinkHome['domain']) => publishProof(world, domain);

test('a link is shown once, and its token is kept as a hash alone', async () => {
  const { home, ask, links, newLink } = await newHome();
  const { url, ...link } = await newLink();
  const { public_url } = world.harness.deps.config;
  assert.ok(url.startsWith(`${public_url}/setup#sll_`));
  const token = url.split('#')[1]!;
  const { body } = await ask('GET', links);
  assert.deepEqual([body.count, body.results], [1, [link]]);
  assert.ok(!JSON.stringify(body).includes(token));
  const row = await world.harness.deps.db.row<{ text: string; expires_at: string }>(
    sql`SELECT to_jsonb(l)::text AS text, expires_at FROM setup_links l
      WHERE id = ${link.id}::uuid`,
  );
  assert.ok(!row!.text.includes(token.slice(8, 30)));
  assert.equal(Date.parse(row!.expires_at), world.now() + 7 * day_ms);
  const [mail] = await world.mailed(home.user.email, 'A setup link was created', 1);
  assert.ok(!mail!.content.text!.includes(token));
  assert.equal(link.mask_value, `sll_...${token.slice(-4)}`);
});

test('the page shows the one domain, and nothing else of the organization', async () => {
  const { home, domain, newLink } = await newHome();
  const other = await world.claim(home);
  const { url } = await newLink();
  const { status, body, text } = await through(url, 'open');
  assert.equal(status, 200, text);
  const { verification: _proof, ...shown } = body;
  const { public_url } = world.harness.deps.config;
  const service = `${public_url}/api/saml/metadata/?organization=${home.organization.id}`;
  assert.deepEqual(shown, {
    name: 'Robin of Acme IT',
    expires_at: shown.expires_at,
    organization_name: 'Acme',
    domain: domain.domain,
    is_verified: false,
    verification_challenge: domain.verification_challenge,
    saml_entity_id: null,
    saml_acs_url: null,
    saml_x509_cert: null,
    has_saml: false,
    is_waiting: false,
    service_metadata_url: service,
    service_entity_id: service,
    service_acs_url: `${public_url}/complete/saml/`,
  });
  for (const hidden of [other.domain, home.user.email, home.user.uuid, home.project.uuid])
    assert.ok(!text.includes(hidden), hidden);
});

test('what is entered through a link waits for an owner, but for the proof', async () => {
  const { home, domain, ask, newLink } = await newHome();
  const { id, url } = await newLink();
  assert.equal((await through(url, 'verify')).body.is_verified, false);
  publish(domain);
  assert.equal((await through(url, 'verify')).body.is_verified, true);
  const wrong = await through(url, 'provider', {
    ...provider(),
    saml_acs_url: 'http://idp.example',
  });
  assert.deepEqual(faultsOf(wrong), ['saml_acs_url invalid_input']);
  assert.deepEqual(faultsOf(await through(url, 'provider')), [
    'saml_entity_id required',
    'saml_acs_url required',
    'saml_x509_cert required',
  ]);
  const saved = await through(url, 'provider', provider());
  assert.deepEqual(
    [saved.status, saved.body.is_waiting, saved.body.has_saml],
    [200, true, true],
    saved.text,
  );
  const read = await world.read(home, domain);
  assert.deepEqual(
    [read.has_saml, read.sso_enforcement, read.pending_changes, read.pending_set_by],
    [false, '', provider(), 'Robin of Acme IT (with a setup link)'],
  );
  assert.equal((await through(url, 'test_sign_in')).status, 200);
  const [mail] = await world.mailed(home.user.email, 'waits for you', 1);
  assert.match(mail!.content.text!, /Robin of Acme IT \(with a setup link\) changed the domain/);
  const log = `/api/organizations/${home.organization.id}/activity/`;
  const entries = (await ask('GET', `${log}?key=${id}`)).body.results;
  assert.deepEqual(
    entries.map((one: any) => [one.activity, one.scope, one.user, one.session_id, one.key_name]),
    ['updated', 'verified', 'checked'].map((activity) => [
      activity,
      'domain',
      null,
      null,
      'Robin of Acme IT',
    ]),
  );
  const confirm = `${domainsPath(home, domain)}pending_changes/confirm/`;
  assert.equal((await ask('POST', confirm)).status, 200);
  assert.equal((await world.read(home, domain)).has_saml, true);
});

test('a link sets no rule of how people sign in, whatever is sent along', async () => {
  const { home, domain, newLink } = await newHome();
  const { url } = await newLink();
  publish(domain);
  await through(url, 'verify');
  for (const more of [
    { sso_enforcement: 'saml' },
    { jit_provisioning_enabled: true },
    { domain: 'other.example' },
    { organization_id: home.organization.id },
  ]) {
    const answer = await through(url, 'provider', { ...provider(), ...more });
    assert.equal(answer.status, 400, JSON.stringify(more));
  }
  assert.deepEqual((await world.read(home, domain)).pending_changes, null);
});
