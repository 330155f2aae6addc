import type { Deps } from '../../../deps.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { readResponse } from '../../../platform/saml/response.ts';
import type { ResponseForm } from '../../../platform/saml/response.ts';
import { findVerifiedDomain, withPending } from '../../domains/store.ts';
import type { Outcome } from '../outcome.ts';
import { SignInRefused } from '../refusal.ts';
import { findSamlParties, samlSettingsHash } from './provider.ts';
import type { SamlParties } from './provider.ts';
import { keepOutcome, useAssertion } from '../store.ts';
import type { SamlRequest } from '../store.ts';

/** Tolerance for the clock of an identity provider: 3 minutes. */
const skew_ms = 180_000;

/**
 * Some providers let an assertion last until the end of the year 9999; with the tolerance,
 * PostgreSQL could not read the instant.
 */
const latest_ms = Date.parse('9999-12-31T00:00:00Z');

/** The judgement on a response; the caller has to use up `assertion`, whose end is in ms. */
export type Judged = { outcome: Outcome; assertion?: { id: string; until_ms: number } };

/**
 * Verifies the response to a sign-in in progress. Guarantees for a result without refusal: the
 * domain is verified, its provider is the one of the request with unchanged settings, and all rules
 * of verification are met. Stores and uses up nothing yet.
 */
export async function judgeResponse(
  deps: Deps,
  request: SamlRequest,
  form: ResponseForm,
  request_id: string,
): Promise<Judged> {
  const standing = await findVerifiedDomain(deps.db, deps.config, request.domain);
  if (standing?.id !== request.domain_id)
    return refused('domain_not_verified', `The domain ${request.domain} is no longer verified.`);
  const is_test = request.purpose === 'test';
  const domain = is_test ? await withPending(deps.db, standing) : standing;
  const parties = findSamlParties(deps.config, domain);
  if (
    parties === undefined ||
    !samlSettingsHash(deps.secrets, domain).equals(request.settings_hash)
  )
    return refused('provider_changed', changed(domain.domain));
  const expectations = { request_id, now_ms: deps.clock.now(), skew_ms };
  const read = await readResponse(form, parties.provider, parties.service, expectations);
  if ('refused' in read) return refused(read.refused, read.detail);
  const {
    assertion_id,
    name_id,
    email,
    first_name,
    last_name,
    attributes,
    not_on_or_after_ms,
    session_not_on_or_after_ms,
  } = read.sign_in;
  const certificate = is_test ? await findSigner(form, parties, expectations) : {};
  const end =
    session_not_on_or_after_ms === undefined
      ? {}
      : { session_ends_at: isoInstant(session_not_on_or_after_ms) };
  const names = {
    ...(first_name === undefined ? {} : { first_name }),
    ...(last_name === undefined ? {} : { last_name }),
  };
  return {
    outcome: {
      name_id,
      email,
      ...names,
      ...end,
      attribute_names: Object.keys(attributes),
      ...certificate,
    },
    assertion: { id: assertion_id, until_ms: Math.min(not_on_or_after_ms + skew_ms, latest_ms) },
  };
}

/**
 * Stores the result of a response for the browser to fetch, and uses up request and assertion; of
 * concurrent responses, one is stored. Throws `SignInRefused` for the others.
 */
export async function keepJudged(
  deps: Deps,
  request: SamlRequest,
  { outcome, assertion }: Judged,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (!(await keepOutcome(tx, request.id, outcome)))
      throw new SignInRefused('request_used', 'A response to this sign-in was already received.');
    if (
      assertion !== undefined &&
      !(await useAssertion(tx, deps, request.domain_id, assertion.id, assertion.until_ms))
    )
      throw new SignInRefused(
        'assertion_used',
        'The assertion was already used in another sign-in.',
      );
  });
}

/** Returns the log's sentence about provider settings that changed during a sign-in. */
export function changed(domain: string): string {
  return `The settings of the identity provider of ${domain} were changed during the sign-in.`;
}

function refused(reason: Extract<Outcome, { refused: string }>['refused'], detail: string): Judged {
  return { outcome: { refused: reason, detail } };
}

/**
 * Returns the certificate that verifies the response; of several for one key, the one that is valid
 * longest.
 */
async function findSigner(
  form: ResponseForm,
  { provider, service, certificates }: SamlParties,
  expectations: Parameters<typeof readResponse>[3],
) {
  const longest_first = certificates.toSorted(
    (one, other) => Date.parse(other.not_after) - Date.parse(one.not_after),
  );
  for (const { pem, ...certificate } of longest_first) {
    if (
      'sign_in' in
      (await readResponse(form, { ...provider, certificates: [pem] }, service, expectations))
    )
      return { certificate };
  }
  return {};
}
