import type { Certificate } from '../../platform/saml/certificates.ts';
import type { RefusalReason } from './refusal.ts';

/**
 * The person of a verified SAML response. `session_ends_at` is the provider's end of the session
 * (ISO instant); `certificate` is the one that verified it, named in a test alone.
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
 * The outcome of a SAML response. A refusal is kept in a test alone; `detail` is a sentence for the
 * administrator.
 */
export type Outcome = Received | { refused: RefusalReason; detail: string };
