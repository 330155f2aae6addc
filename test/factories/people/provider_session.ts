import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Harness } from '../../harness.ts';

/** A verified domain of the organization, with the fields of a SAML provider that is never used. */
export async function insertProvider(
  { deps }: Harness,
  organization_id: string,
  name = `${randomUUID()}.example`,
): Promise<{ id: string; name: string }> {
  const id = randomUUID();
  await deps.db.run(sql`INSERT INTO domains (id, organization_id, domain, verification_challenge,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${id}, ${organization_id}::uuid, ${name}, '', 'urn:idp', 'https://idp.example/sso', 'x',
      'verified', now(), '', now())`);
  return { id, name };
}

/** Makes the person's sessions like those that the provider of the domain opens. */
export async function openByProvider(
  { deps }: Harness,
  user: { id: number },
  domain: { id: string },
  { awaits_factor = false } = {},
): Promise<void> {
  await deps.db.run(sql`UPDATE sessions SET method = 'saml', domain_id = ${domain.id}::uuid,
    awaits_factor = ${awaits_factor} WHERE user_id = ${user.id}`);
}
