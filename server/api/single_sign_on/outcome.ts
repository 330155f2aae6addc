import type { Certificate } from '../../platform/saml/certificates.ts';
import type { RefusalReason } from './refusal.ts';

/**
 * Whom a SAML response signed in, as far as it is needed once it was verified. `session_ends_at` is
 * when the provider wants the session to end (ISO instant); `certificate` is the one that verified
 * it, named in a test alone.
 */
export type Received = {
  name_id: string;
  email: string;
  first_name?: string;
  last_name?: string;
  attribute_names: string[];
  session_ends_at?: string;
  certificate?: Omit<Certificate, 'pem'>;
};

/**
 * What became of a SAML response. A refusal is kept in a test alone; `detail` is a sentence for the
 * administrator.
 */
export type Outcome = Received | { refused: RefusalReason; detail: string };
