import type { Deps } from '../../../deps.ts';
import { readCertificates } from '../../../platform/saml/certificates.ts';
import type { Certificate } from '../../../platform/saml/certificates.ts';
import type { Provider, Service } from '../../../platform/saml/parties.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { VerifiedDomain } from '../../domains/store.ts';

/** A domain's identity provider, and this server as it knows it. */
export type SamlParties = { provider: Provider; service: Service; certificates: Certificate[] };

/**
 * The identity provider of a verified domain; undefined where it has none, or where the domain asks
 * for sign-ins through another provider. Only addresses of this domain are taken from it.
 */
export function findSamlParties(
  config: Deps['config'],
  domain: VerifiedDomain,
): SamlParties | undefined {
  const { has_saml, saml_entity_id, saml_acs_url, saml_x509_cert, sso_enforcement } = domain;
  if (!has_saml) return undefined;
  if (saml_entity_id === null || saml_acs_url === null || saml_x509_cert === null) return undefined;
  if (sso_enforcement !== '' && sso_enforcement !== 'saml') return undefined;
  const read = readCertificates(saml_x509_cert);
  if ('detail' in read) return undefined;
  const { certificates } = read;
  const provider = {
    entity_id: saml_entity_id,
    sso_url: saml_acs_url,
    certificates: certificates.map(({ pem }) => pem),
    email_domain: domain.domain,
  };
  return { provider, service: samlService(config, domain.organization_id), certificates };
}

/**
 * This server as the identity providers of an organization know it: each organization has an entity
 * id of its own, so that an assertion for one is none for another.
 */
export function samlService(
  { public_url }: Pick<Deps['config'], 'public_url'>,
  organization_id: string,
): Service {
  return {
    entity_id: `${public_url}/api/saml/metadata/?organization=${organization_id}`,
    acs_url: `${public_url}/complete/saml/`,
  };
}

/** An HMAC that changes with every change of the domain's provider. */
export function samlSettingsHash(
  secrets: Secrets,
  { saml_entity_id, saml_acs_url, saml_x509_cert }: VerifiedDomain,
): Buffer {
  return secrets.hash(
    `saml settings ${JSON.stringify([saml_entity_id, saml_acs_url, saml_x509_cert])}`,
  );
}
