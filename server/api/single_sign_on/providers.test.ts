import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';

let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    config: { gitlab_client_id: 'id', gitlab_client_secret: 'secret' },
  });
  home = await harness.newOrganization();
});
after(() => harness.close());

async function newDomain(sso_enforcement: string, has_saml: boolean): Promise<string> {
  const domain = `${randomUUID()}.example.com`;
  const saml = has_saml ? 'https://idp.example' : null;
  await harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${home.organization.id}, ${domain}, '', ${sso_enforcement},
      ${saml}, ${saml}, ${saml}, 'verified', now(), '', now())`);
  return domain;
}

const providersOf = async (query: string) => {
  const { status, body } = await harness.request('GET', `/api/single_sign_on/${query}`);
  assert.equal(status, 200);
  return [body.providers, body.is_enforced];
};

test('anybody can list the providers of the server', async () => {
  assert.deepEqual(await providersOf(''), [['gitlab'], false]);
  assert.deepEqual(await providersOf('?email=ada@example.net'), [['gitlab'], false]);
  assert.deepEqual(await providersOf('?email='), [['gitlab'], false]);
});

test("the domain's providers are offered; one that is enforced is the only way", async () => {
  const cases: [string, boolean, string[], boolean][] = [
    ['', true, ['saml', 'gitlab'], false],
    ['saml', true, ['saml'], true],
    ['gitlab', false, ['gitlab'], true],
    // Not set up on this server, so it locks nobody out.
    ['github', false, ['gitlab'], false],
  ];
  for (const [sso_enforcement, has_saml, providers, is_enforced] of cases) {
    const domain = await newDomain(sso_enforcement, has_saml);
    assert.deepEqual(
      await providersOf(`?email=${encodeURIComponent(`ada+1@${domain}`)}`),
      [providers, is_enforced],
      `${sso_enforcement} ${has_saml}`,
    );
  }
});

test('an address that is too long is refused, and so is another parameter twice', async () => {
  for (const query of [`?email=${'a'.repeat(255)}`, '?email=a@b.c&email=d@e.f'])
    assert.equal((await harness.request('GET', `/api/single_sign_on/${query}`)).status, 400);
});
