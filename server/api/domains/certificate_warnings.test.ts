import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openDomainWorld } from '../../../test/factories/people/domains.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { warnOfCertificates } from './certificate_warnings.ts';
import type { DomainRow } from './schema.ts';

const day_ms = 24 * 3_600_000;
const certificate = (name: string) =>
  readFileSync(new URL(`../../../test/certificates/${name}.crt`, import.meta.url), 'utf8');
const expired = certificate('saml_expired');
const acme = certificate('saml_acme');
const acme_ends_at = '2126-10-28T10:16:42.000000Z';
const provider = { saml_entity_id: 'urn:acme', saml_acs_url: 'https://idp.acme.test/sso' };

const world = aroundTests(openDomainWorld);

async function verifiedWith(
  home: TestOrganization,
  fields: Record<string, unknown>,
): Promise<DomainRow> {
  const domain = await world.claim(home);
  await world.prove(home, domain);
  assert.equal((await world.change(home, domain, fields)).status, 200);
  return domain;
}

const warn = () => warnOfCertificates(world.harness.deps);
const warnings = async (domain: DomainRow) =>
  world.harness.deps.db.rows<{ activity: string; user_id: null; changes: { after: string }[] }>(
    sql`SELECT activity, user_id, changes FROM activity WHERE item_id = ${domain.id}
      AND activity = 'warned' ORDER BY number`,
  );

test('30, 7 and 1 days before the last certificate ends people are warned, once each', async () => {
  const home = await world.harness.newOrganization();
  const domain = await verifiedWith(home, { ...provider, saml_x509_cert: `${expired}${acme}` });
  const end = Date.parse(acme_ends_at);
  const steps: [number, number][] = [
    [end - 31 * day_ms, 0],
    [end - 30 * day_ms - 1, 0],
    [end - 30 * day_ms, 1],
    [end - 20 * day_ms, 0],
    [end - 7 * day_ms, 1],
    [end - 2 * day_ms, 0],
    [end - day_ms, 1],
    [end + day_ms, 0],
  ];
  let told = 0;
  for (const [instant, expected] of steps) {
    world.goTo(instant);
    const counts = await Promise.all([warn(), warn()]);
    assert.equal(counts[0] + counts[1], expected, `${(end - instant) / day_ms} days before`);
    told += expected;
    // Before days pass: a mail that comes too late is not sent.
    await world.mailed(home.user.email, 'certificate', told);
  }
  const entries = await warnings(domain);
  assert.deepEqual(
    entries.map(({ user_id, changes }) => `${user_id} ${changes[0]!.after}`),
    Array(3).fill(`null ${acme_ends_at}`),
  );
  const mails = await world.mailed(home.user.email, 'certificate', 3);
  assert.deepEqual(
    mails.map(({ content }) => content.subject),
    Array(3).fill(`The SAML certificate of ${domain.domain} expires soon`),
  );
  assert.ok(mails[0]!.content.text?.includes(acme_ends_at));
});

test('a person who missed a warning is warned once; another certificate starts again', async () => {
  world.goTo(Date.parse('2030-01-01T00:00:00.000000Z'));
  const home = await world.harness.newOrganization();
  const domain = await verifiedWith(home, { ...provider, saml_x509_cert: expired });
  assert.deepEqual([await warn(), await warn()], [1, 0]);
  const [mail] = await world.mailed(home.user.email, 'certificate', 1);
  assert.equal(mail?.content.subject, `The SAML certificate of ${domain.domain} has expired`);
  await world.change(home, domain, { saml_x509_cert: expired, saml_entity_id: 'urn:new' });
  assert.equal(await warn(), 0);
  await world.change(home, domain, { saml_x509_cert: acme });
  assert.equal(await warn(), 0);
  await world.change(home, domain, { saml_x509_cert: expired });
  assert.equal(await warn(), 1);
});

test('a certificate that is not in force gives no warning', async () => {
  const home = await world.harness.newOrganization();
  await verifiedWith(home, { saml_entity_id: 'urn:acme', saml_x509_cert: expired });
  const pending = await world.claim(home);
  assert.equal(
    (await world.change(home, pending, { ...provider, saml_x509_cert: expired })).status,
    200,
  );
  assert.equal(await warn(), 0);
  await world.prove(home, pending);
  assert.equal(await warn(), 1);
});
