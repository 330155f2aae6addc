import type { Deps } from '../../../deps.ts';
import { readCertificates } from '../../../platform/saml/certificates.ts';
import type { Certificate } from '../../../platform/saml/certificates.ts';
import type { Provider, Service } from '../../../platform/saml/parties.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { VerifiedDomain } from '../../domains/store.ts';

/** A domain's identity provider, and this server as its service provider. */
export type SamlParties = { provider: Provider; service: Service; certificates: Certificate[] };

/**
 * Returns the identity provider of a verified domain; undefined if it has none, or requires
 * sign-ins through another provider. It can only sign in addresses of this domain.
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
 * Returns this server as a service provider for an organization's identity providers. Each
 * organization has its own entity id, so an assertion for one is invalid for another.
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

/** Returns an HMAC that changes with every change of the domain's provider. */
export function samlSettingsHash(
  secrets: Secrets,
  { saml_entity_id, saml_acs_url, saml_x509_cert }: VerifiedDomain,
): Buffer {
  return secrets.hash(
    `saml settings ${JSON.stringify([saml_entity_id, saml_acs_url, saml_x509_cert])}`,
  );
}
