/**
 * The identity provider of a sign-in. `certificates` are PEM texts from `readCertificates`; one of
 * them must verify. It may only name addresses of `email_domain` (lower case), so that a provider
 * speaks only for its own domain.
 */
export type Provider = {
  entity_id: string;
  sso_url: string;
  certificates: string[];
  email_domain: string;
};

/**
 * This service as identity providers know it: its entity id, and the address for their responses.
 */
export type Service = { entity_id: string; acs_url: string };
