import { timingSafeEqual } from 'node:crypto';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { sign_in_lifetime_ms } from '../../platform/http/caller/browser_mark.ts';
import { html } from '../../platform/http/pages/html.ts';
import type { Html } from '../../platform/http/pages/html.ts';
import type { Page } from '../../platform/http/pages/page.ts';
import { findVerifiedDomain, withPending } from '../domains/store.ts';
import type { VerifiedDomain } from '../domains/store.ts';
import type { Outcome, Received } from './outcome.ts';

const warning_ms = 30 * 24 * 3_600_000;
const names_shown_max = 100;

type Maker = Pick<Deps, 'secrets' | 'clock' | 'config'>;

/**
 * Returns the address that starts a test of the domain's provider, valid for 10 minutes. It signs
 * nobody in: the person who opens it sees the data from the provider.
 */
export function createTestUrl(
  { secrets, clock, config }: Maker,
  domain: { id: string; domain: string },
): { url: string; expires_at: string } {
  const expires_ms = clock.now() + sign_in_lifetime_ms;
  const token = `${domain.domain}~${expires_ms}~${sealOf(secrets, domain.id, expires_ms)}`;
  return {
    url: `${config.public_url}/login/saml/?test=${encodeURIComponent(token)}`,
    expires_at: isoInstant(expires_ms),
  };
}

/**
 * Returns the verified domain of the test, with its waiting changes; undefined if the token was not
 * created here, has expired, or the domain is no longer verified.
 */
export async function openTestToken(
  { db, secrets, clock, config }: Maker & Pick<Deps, 'db'>,
  token: string,
): Promise<VerifiedDomain | undefined> {
  const [name = '', expires = '', seal = ''] = token.split('~');
  const domain =
    /^\d{1,15}$/.test(expires) && Number(expires) > clock.now()
      ? await findVerifiedDomain(db, config, name)
      : undefined;
  if (domain === undefined) return undefined;
  const [shown, wanted] = [
    Buffer.from(seal),
    Buffer.from(sealOf(secrets, domain.id, Number(expires))),
  ];
  const isOurs = shown.length === wanted.length && timingSafeEqual(shown, wanted);
  return isOurs ? withPending(db, domain) : undefined;
}

/**
 * Renders the result of a test: the received data and its certificate, or the reason of a refusal.
 */
export function testPage({ clock }: Pick<Deps, 'clock'>, outcome: Outcome): Page {
  if ('refused' in outcome) {
    const { refused, detail } = outcome;
    return {
      title: 'The test was refused',
      body: html`<p>A sign-in with this response would be refused.</p>
        ${listOf([
          ['Reason', refused],
          ['What was found', detail],
        ])}`,
    };
  }
  const warning = certificateWarning(outcome, clock.now());
  const fault = warning === undefined ? undefined : html`<p class="fault">${warning}</p>`;
  const body = html`<p>The response is in order. This was a test: nobody was signed in.</p>
    ${fault}${listOf(receivedFacts(outcome))}`;
  return { title: 'The test was successful', body };
}

type Fact = [name: string, value: string];

function listOf(facts: Fact[]): Html {
  return html`<dl>
    ${facts.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

function receivedFacts({
  email,
  name_id,
  first_name,
  last_name,
  attribute_names,
  certificate,
}: Received): Fact[] {
  const more =
    attribute_names.length > names_shown_max
      ? [`and ${attribute_names.length - names_shown_max} more`]
      : [];
  return [
    ['E-mail address', email],
    ['NameID', name_id],
    ['First name', first_name ?? 'not sent'],
    ['Last name', last_name ?? 'not sent'],
    ['Attributes', [...attribute_names.slice(0, names_shown_max), ...more].join(', ') || 'none'],
    ...(certificate === undefined ? [] : certificateFacts(certificate)),
  ];
}

function certificateFacts({
  subject,
  fingerprint_sha256,
  not_after,
}: NonNullable<Received['certificate']>): Fact[] {
  return [
    ['Certificate', subject],
    ['Fingerprint (SHA-256)', fingerprint_sha256],
    ['Valid until', not_after],
  ];
}

function certificateWarning({ certificate }: Received, now_ms: number): string | undefined {
  if (certificate === undefined) return undefined;
  const left_ms = Date.parse(certificate.not_after) - now_ms;
  if (left_ms <= 0)
    return (
      'Warning: the certificate has expired. Sign-ins still work with its key; ask the provider ' +
      'to renew it.'
    );
  return left_ms <= warning_ms
    ? 'Warning: the certificate expires within 30 days. Add the next one before the ' +
        'provider switches to it.'
    : undefined;
}

function sealOf(secrets: Deps['secrets'], domain_id: string, expires_ms: number): string {
  return secrets.hash(`saml test ${domain_id} ${expires_ms}`).toString('base64url');
}
