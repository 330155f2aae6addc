import type { Element } from '@xmldom/xmldom';
import { Temporal } from 'temporal-polyfill';
import {
  findAttribute,
  getIdentifier,
  isNamed,
  listChildren,
  readChildren,
  readText,
} from './elements.ts';
import { checkIssuer, checkVersion } from './envelope.ts';
import type { Provider, Service } from './parties.ts';
import { quoted, refuse } from './refusal.ts';

/**
 * Facts that the response must match: the id of the request that began the sign-in, the current
 * instant, and the tolerance for the provider's clock. Milliseconds.
 */
export type Expectations = { request_id: string; now_ms: number; skew_ms: number };

/**
 * Facts of a verified assertion, apart from attributes. `not_on_or_after_ms` is the instant
 * (without skew) from which responses with this assertion are refused; `session_not_on_or_after_ms`
 * is the end of the session at the provider, if it names one.
 */
export type AssertionFacts = {
  assertion_id: string;
  name_id: string;
  name_id_format: string | undefined;
  not_on_or_after_ms: number;
  session_not_on_or_after_ms: number | undefined;
  attribute_statements: Element[];
};

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
/** Twice the length that SAML 2.0 Core 8.3.7 allows for an identifier. */
const name_id_characters_max = 512;
const instant_form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/**
 * Checks the assertion by the Web Browser SSO profile (SAML 2.0 Profiles, 4.1.4) and returns its
 * facts. Guarantee: issued by the provider, for this service, for the bearer at this address in
 * answer to this request, valid now, with an authenticated person in it. Throws `ResponseRefused`.
 * `assertion` must be the tree of verified bytes.
 */
export function readAssertion(
  assertion: Element,
  provider: Provider,
  service: Service,
  expectations: Expectations,
): AssertionFacts {
  // The library has its own parser, so its verified output is checked again, not trusted because of
  // the envelope.
  if (!isNamed(assertion, 'saml:Assertion'))
    refuse('assertion_count', 'The signed element is not a SAML 2.0 assertion.');
  checkVersion(assertion);
  const parts = readChildren(
    assertion,
    'not_a_response',
    ['saml:Issuer', 'ds:Signature', 'saml:Subject', 'saml:Conditions', 'saml:Advice'],
    ['saml:AuthnStatement', 'saml:AttributeStatement', 'saml:AuthzDecisionStatement'],
  );
  checkIssuer(
    parts['saml:Issuer'][0] ?? refuse('issuer', 'The assertion has no Issuer.'),
    provider,
  );
  checkNotBefore(assertion, 'IssueInstant', expectations);
  const subject = readSubject(parts['saml:Subject'][0], service, expectations);
  const conditions_end_ms = readConditions(parts['saml:Conditions'][0], service, expectations);
  return {
    assertion_id: getIdentifier(assertion, 'ID', 'not_a_response'),
    name_id: subject.name_id,
    name_id_format: subject.name_id_format,
    not_on_or_after_ms: Math.min(subject.end_ms, conditions_end_ms),
    session_not_on_or_after_ms: readSession(parts['saml:AuthnStatement'], expectations),
    attribute_statements: parts['saml:AttributeStatement'],
  };
}

function readSubject(subject: Element | undefined, service: Service, expectations: Expectations) {
  if (subject === undefined) return refuse('subject', 'The assertion has no Subject.');
  const parts = readChildren(subject, 'subject', ['saml:NameID'], ['saml:SubjectConfirmation']);
  const [name] = parts['saml:NameID'];
  const name_id = name === undefined ? undefined : readText(name);
  if (name === undefined || name_id === undefined || name_id === '')
    return refuse('subject', 'The Subject has no NameID of plain text.');
  if (name_id.length > name_id_characters_max)
    refuse('subject', `The NameID has more than ${name_id_characters_max} characters.`);
  const confirmations = parts['saml:SubjectConfirmation'].filter(
    (confirmation) => findAttribute(confirmation, 'Method') === bearer,
  );
  if (confirmations.length === 0) refuse('subject', 'The Subject has no bearer confirmation.');
  // The profile accepts one matching confirmation; a provider has no reason to sign one for another
  // place.
  const ends = confirmations.map((confirmation) =>
    readConfirmation(confirmation, service, expectations),
  );
  return { name_id, name_id_format: findAttribute(name, 'Format'), end_ms: Math.min(...ends) };
}

/** Returns the end of the confirmation. */
function readConfirmation(
  confirmation: Element,
  service: Service,
  expectations: Expectations,
): number {
  const [data] = readChildren(confirmation, 'subject', [
    'saml:NameID',
    'saml:SubjectConfirmationData',
  ])['saml:SubjectConfirmationData'];
  if (data === undefined)
    return refuse('subject', 'The bearer confirmation has no SubjectConfirmationData.');
  const recipient = findAttribute(data, 'Recipient');
  if (recipient !== service.acs_url)
    refuse('recipient', `The Recipient is ${quoted(recipient ?? '')}, not this service.`);
  if (findAttribute(data, 'InResponseTo') !== expectations.request_id)
    refuse(
      'in_response_to',
      'The bearer confirmation does not answer the request that this sign-in began with.',
    );
  if (findAttribute(data, 'NotBefore') !== undefined)
    refuse('subject', 'The bearer confirmation has a NotBefore, which the profile forbids.');
  return (
    checkEnd(data, 'NotOnOrAfter', expectations) ??
    refuse('subject', 'The bearer confirmation has no NotOnOrAfter.')
  );
}

/** Returns the end of the conditions; Infinity without one. */
function readConditions(
  conditions: Element | undefined,
  service: Service,
  expectations: Expectations,
): number {
  if (conditions === undefined)
    return refuse(
      'audience',
      'The assertion has no Conditions, so it is not made for this service.',
    );
  checkNotBefore(conditions, 'NotBefore', expectations);
  const known = readChildren(
    conditions,
    'conditions',
    [],
    ['saml:AudienceRestriction', 'saml:OneTimeUse', 'saml:ProxyRestriction'],
  );
  const restrictions = known['saml:AudienceRestriction'];
  if (restrictions.length === 0)
    refuse(
      'audience',
      'The assertion has no AudienceRestriction, so it is not made for this service.',
    );
  for (const restriction of restrictions) {
    const audiences = readChildren(restriction, 'audience', [], ['saml:Audience'])[
      'saml:Audience'
    ].map(readText);
    if (!audiences.includes(service.entity_id))
      refuse(
        'audience',
        `The audience is ${quoted(audiences[0] ?? '')}, not the entity id of this service.`,
      );
  }
  return checkEnd(conditions, 'NotOnOrAfter', expectations) ?? Infinity;
}

/** Returns the earliest end of the session that the provider names. */
function readSession(statements: Element[], expectations: Expectations): number | undefined {
  if (statements.length === 0)
    refuse(
      'authentication_statement',
      'The assertion does not say that the person was authenticated.',
    );
  for (const statement of statements) {
    if (!listChildren(statement).some((child) => isNamed(child, 'saml:AuthnContext')))
      refuse('authentication_statement', 'The AuthnStatement has no AuthnContext.');
    if (findAttribute(statement, 'AuthnInstant') === undefined)
      refuse('authentication_statement', 'The AuthnStatement has no AuthnInstant.');
    checkNotBefore(statement, 'AuthnInstant', expectations);
  }
  const ends = statements.flatMap(
    (statement) =>
      checkEnd(statement, 'SessionNotOnOrAfter', expectations, 'session_expired') ?? [],
  );
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function checkNotBefore(element: Element, name: string, { now_ms, skew_ms }: Expectations): void {
  const at_ms = findInstant(element, name);
  if (at_ms !== undefined && now_ms + skew_ms < at_ms)
    refuse('not_yet_valid', `The ${name} is in the future. Compare the clocks.`);
}

function checkEnd(
  element: Element,
  name: string,
  { now_ms, skew_ms }: Expectations,
  code: 'expired' | 'session_expired' = 'expired',
): number | undefined {
  const at_ms = findInstant(element, name);
  if (at_ms !== undefined && now_ms - skew_ms >= at_ms)
    refuse(code, `The ${name} is over. Compare the clocks, or sign in again.`);
  return at_ms;
}

function findInstant(element: Element, name: string): number | undefined {
  const text = findAttribute(element, name);
  if (text === undefined) return undefined;
  try {
    if (instant_form.test(text)) return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    // A day or an hour that does not exist.
  }
  return refuse('time_format', `The ${name} is not an instant in UTC.`);
}
