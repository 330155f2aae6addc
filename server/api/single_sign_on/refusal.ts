import type { RefusalCode } from '../../platform/saml/refusal.ts';

/**
 * Why nobody was signed in, one word for each rule; docs/sign_in_refusals.md explains each. The
 * first line is only for SAML responses, with the codes of their verification.
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
 * Ends a sign-in. `detail` is a sentence for the administrator, only in the log: the person sees
 * one neutral sentence.
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
