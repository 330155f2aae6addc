/**
 * The identity provider that a sign-in began with. `certificates` are PEM texts as
 * `readCertificates` gives them; one of them has to verify. Only addresses of `email_domain` (lower
 * case) are taken from it, so that a provider speaks for its own domain and no other.
 */
export type Provider = {
  entity_id: string;
  sso_url: string;
  certificates: string[];
  email_domain: string;
};

/**
 * This service as identity providers know it: its entity id, and the address that takes their
 * responses.
 */
export type Service = { entity_id: string; acs_url: string };
