import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { readConfig } from '../../config/config.ts';
import { findVerifiedDomain } from './store.ts';

const world = aroundTests(openDomainWorld);

const acme = readFileSync(
  new URL('../../../test/certificates/saml_acme.crt', import.meta.url),
  'utf8',
);
const saml = {
  saml_entity_id: 'https://idp.acme.test/metadata',
  saml_acs_url: 'https://idp.acme.test/sso',
  saml_x509_cert: acme.trim(),
};

const verified = async (home: TestOrganization) => world.prove(home, await world.claim(home));

test('sign-in finds the domain of an address, and no enforcement that cannot work', async () => {
  const { db, config } = world.harness.deps;
  const home = await world.harness.newOrganization();
  const pending = await world.claim(home, 'pending.test');
  const domain = await world.claim(home, 'größe.test');
  await world.prove(home, domain);
  await world.change(home, domain, {
    jit_provisioning_enabled: true,
    sso_enforcement: 'saml',
    ...saml,
  });
  const expected = {
    id: domain.id,
    organization_id: home.organization.id,
    domain: domain.domain,
    jit_provisioning_enabled: true,
    has_saml: true,
    ...saml,
  };
  for (const address of [
    'a@größe.test',
    'A.B@GRÖSSE.test'.replace('SS', 'ß'),
    'x@xn--gre-6ka8i.test',
    'größe.test',
    'XN--GRE-6KA8I.TEST.',
    'a@b@größe.test',
  ])
    assert.deepEqual(
      await findVerifiedDomain(db, config, address),
      { ...expected, sso_enforcement: 'saml' },
      address,
    );
  for (const address of [
    `a@${pending.domain}`,
    'a@sub.größe.test',
    'a@test',
    'a@',
    '',
    '@',
    'größe.test@other.test',
    'a@größe.test.example',
  ])
    assert.equal(await findVerifiedDomain(db, config, address), undefined, address);
});

test('enforcement ends with a provider that is no longer configured', async () => {
  const google = readConfig({
    SLUICE_GOOGLE_CLIENT_ID: 'id',
    SLUICE_GOOGLE_CLIENT_SECRET: 'secret',
  });
  const { db, config } = world.harness.deps;
  const home = await world.harness.newOrganization();
  const domain = await verified(home);
  Object.assign(config, { google_client_id: 'id', google_client_secret: 'secret' });
  assert.equal(
    (await world.change(home, domain, { sso_enforcement: 'google-oauth2' })).status,
    200,
  );
  Object.assign(config, { google_client_id: undefined, google_client_secret: undefined });
  assert.equal(
    (await findVerifiedDomain(db, google, domain.domain))?.sso_enforcement,
    'google-oauth2',
  );
  assert.equal((await findVerifiedDomain(db, config, domain.domain))?.sso_enforcement, '');
});
