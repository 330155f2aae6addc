import type { RefusalCode } from '../../platform/saml/refusal.ts';

/**
 * Why nobody was signed in, one word for each rule; docs/sign_in_refusals.md says what each means.
 * The first line is about SAML responses alone, with the codes of the gate.
 */
export type RefusalReason =
  | RefusalCode
  | 'form'
  | 'request_unknown'
  | 'request_used'
  | 'assertion_used'
  | 'provider_changed'
  | 'domain_not_verified'
  | 'other_browser'
  | 'provider_refused'
  | 'provider_answer'
  | 'provider_unavailable'
  | 'sso_enforced'
  | 'no_account'
  | 'not_a_member'
  | 'deactivated'
  | 'inactive'
  | 'account_unverified'
  | 'link_unknown';

/**
 * Ends a sign-in. `detail` is a sentence for the administrator, in the log alone: the person is
 * shown one neutral sentence.
 */
export class SignInRefused extends Error {
  readonly reason: RefusalReason;
  readonly status: 400 | 403 | 503;
  constructor(reason: RefusalReason, detail: string, status: 400 | 403 | 503 = 403) {
    super(detail);
    this.name = 'SignInRefused';
    this.reason = reason;
    this.status = status;
  }
}
