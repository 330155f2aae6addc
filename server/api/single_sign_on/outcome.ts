import type { Certificate } from '../../platform/saml/certificates.ts';
import type { RefusalReason } from './refusal.ts';

/**
 * The person in a verified SAML response. `session_ends_at` is the provider's end of the session
 * (ISO instant); `certificate` is the one that verified it, set only in a test.
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
 * The result of a SAML response. A refusal is stored only in a test; `detail` is a sentence for the
 * administrator.
 */
export type Outcome = Received | { refused: RefusalReason; detail: string };
