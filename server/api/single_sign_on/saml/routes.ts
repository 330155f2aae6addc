import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../../deps.ts';
import { takeAttempt, takeBackAttempt } from '../../../platform/pacing/throttle.ts';
import type { AttemptPolicy } from '../../../platform/pacing/throttle.ts';
import { basePath } from '../../../platform/http/base_path.ts';
import { findBrowser, markBrowser } from '../../../platform/http/caller/browser_mark.ts';
import { isUuid } from '../../../platform/uuid.ts';
import { throttled } from '../../../platform/http/errors.ts';
import { html } from '../../../platform/http/pages/html.ts';
import { sendPage } from '../../../platform/http/pages/page.ts';
import type { Page } from '../../../platform/http/pages/page.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { addressOf } from '../../../platform/http/limits/address.ts';
import { createLoginRequest } from '../../../platform/saml/request.ts';
import { peekRequestId } from '../../../platform/saml/response.ts';
import { findVerifiedDomain } from '../../domains/store.ts';
import { signIn } from '../admit.ts';
import { browserRoute, countSignIn, logRefusal, readForm } from '../browser_route.ts';
import { localPath } from '../local_path.ts';
import { SignInRefused } from '../refusal.ts';
import { findSamlParties, samlSettingsHash } from './provider.ts';
import { changed, judgeResponse, keepJudged } from './response.ts';
import { findSamlRequest, insertRequest, useAnsweredRequest } from '../store.ts';
import { openTestToken, testPage } from '../test_sign_in.ts';

/** The decoded response may have 256 KiB; base64 and the form's escapes enlarge it. */
const form_size_bytes_max = 512 * 1024;
const acs = '/complete/saml/';
/**
 * Anybody can start a sign-in and answer it, and refusing a large answer under several certificates
 * takes up to seconds of processor time.
 */
const responses_of_address: AttemptPolicy = {
  free: 50,
  pause_seconds_min: 2,
  pause_seconds_max: 300,
};
const unreadable = new Set(['not_base64', 'not_xml', 'not_a_response', 'markup', 'too_large']);

/** `test` replaces `email`: it starts the test that an administrator requested. */
const Login = Type.Object({
  email: Type.Optional(Type.String()),
  next: Type.Optional(Type.String()),
  test: Type.Optional(Type.String()),
});
const Completion = Type.Object({ id: Type.Optional(Type.String()) });

/**
 * Routes of sign-ins through a domain's own SAML provider. `/login/saml/` redirects to the
 * provider. A form of the provider's page posts the response to `/complete/saml/`, which verifies
 * and stores it. Then the browser that started fetches the session there with GET.
 */
export function samlRoutes(app: FastifyInstance, deps: Deps): void {
  app.get('/login/saml/', browserRoute('saml'), (request, reply) =>
    beginSignIn(deps, request, reply),
  );
  app.post(acs, browserRoute('saml', form_size_bytes_max), (request, reply) =>
    takeResponse(deps, request, reply),
  );
  app.get(acs, browserRoute('saml'), (request, reply) => completeSignIn(deps, request, reply));
}

async function beginSignIn(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { email = '', next, test } = query(request, Login);
  const domain =
    test === undefined
      ? await findVerifiedDomain(deps.db, deps.config, email.trim())
      : await openTestToken(deps, test);
  const parties = domain === undefined ? undefined : findSamlParties(deps.config, domain);
  if (domain === undefined || parties === undefined) return sendPage(reply, 404, nowhere);
  if (test === undefined && isLedHere(request))
    return sendPage(reply, 200, askFirst(domain.domain, email, next));
  const { url, request_id } = await createLoginRequest(parties.provider, parties.service, {
    service_name: 'Sluice',
  });
  await insertRequest(deps, {
    token: request_id,
    browser_hash: markBrowser(request, reply),
    provider: 'saml',
    purpose: test === undefined ? 'sign_in' : 'test',
    next: localPath(next),
    domain_id: domain.id,
    settings_hash: samlSettingsHash(deps.secrets, domain),
  });
  return reply.redirect(url, 303);
}

/**
 * Returns true if a page of another site, or of another host of this one, sent the browser here.
 */
function isLedHere({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/**
 * The provider may belong to an attacker, who signs every person in as the attacker: after a link
 * from them, people would use the attacker's account unnoticed.
 */
function askFirst(domain: string, email: string, next = '/'): Page {
  return {
    title: `Sign in through ${domain}?`,
    body: html`<p>
        A link on another site led you here. Continue only if you have an account with an address of
        <strong>${domain}</strong>.
      </p>
      <p>
        <a href="login/saml/?${new URLSearchParams({ email, next }).toString()}"
          >Continue to the sign-in of ${domain}</a
        >
      </p>
      <p><a href="login">Sign in another way</a></p>`,
  };
}

const nowhere = {
  title: 'No single sign-on',
  body: html`<p>
    There is no single sign-on with SAML for this address. <a href="login">Sign in another way</a>,
    or ask your administrator.
  </p>`,
};

/**
 * The provider's site posts the form, so a browser sends it without our cookies; the next step
 * identifies the browser.
 */
async function takeResponse(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const SAMLResponse = readForm(request).get('SAMLResponse');
  if (SAMLResponse === undefined)
    throw new SignInRefused('form', 'The form has no SAMLResponse.', 400);
  const peeked = peekRequestId({ SAMLResponse });
  if ('refused' in peeked)
    throw new SignInRefused(
      peeked.refused,
      peeked.detail,
      unreadable.has(peeked.refused) ? 400 : 403,
    );
  const begun = await findSamlRequest(deps, peeked.request_id);
  if (begun === undefined)
    throw new SignInRefused('request_unknown', 'The response answers no sign-in in progress.');
  request.concerned = { organization_id: begun.organization_id };
  if (begun.is_answered)
    throw new SignInRefused('request_used', 'A response to this sign-in was already received.');
  const accepted = await countResponse(deps, request);
  const judged = await judgeResponse(deps, begun, { SAMLResponse }, peeked.request_id);
  const { outcome } = judged;
  if (!('refused' in outcome)) await accepted();
  if ('refused' in outcome) {
    if (begun.purpose === 'sign_in') throw new SignInRefused(outcome.refused, outcome.detail);
    logRefusal(request, 'saml', { reason: outcome.refused, message: outcome.detail });
  }
  await keepJudged(deps, begun, judged);
  return reply.redirect(`${basePath(deps)}${acs}?id=${begun.id}`, 303);
}

/**
 * Counts a response before it is verified, and returns the function to call if it was valid. Throws
 * 429 after too many invalid ones from the address.
 */
async function countResponse(deps: Deps, { ip }: FastifyRequest): Promise<() => Promise<void>> {
  const subject = `saml response from ${addressOf(ip)}`;
  const wait_seconds = await takeAttempt(deps, subject, responses_of_address);
  if (wait_seconds !== undefined) throw throttled(wait_seconds);
  return () => takeBackAttempt(deps, subject);
}

async function completeSignIn(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id = '' } = query(request, Completion);
  const browser_hash = findBrowser(request);
  const answered =
    isUuid(id) && browser_hash !== undefined
      ? await useAnsweredRequest(deps, id, browser_hash)
      : undefined;
  if (answered === undefined)
    throw new SignInRefused(
      'other_browser',
      'This browser did not start the sign-in, or the sign-in was completed or has expired.',
    );
  if (answered.purpose === 'test') return sendPage(reply, 200, testPage(deps, answered.outcome));
  const { outcome, domain_id, settings_hash, next } = answered;
  const {
    name_id: subject,
    attribute_names: _names,
    certificate: _certificate,
    ...person
  } = outcome;
  const vouched = {
    ...person,
    method: 'saml' as const,
    identity: { provider: `saml:${domain_id}`, subject },
    settings_hash,
  };
  await signIn(deps, { request, reply }, vouched, (home) => {
    if (home?.domain.id !== domain_id)
      throw new SignInRefused(
        'domain_not_verified',
        `The domain of ${outcome.email} is no longer verified.`,
      );
    if (!samlSettingsHash(deps.secrets, home.domain).equals(settings_hash))
      throw new SignInRefused('provider_changed', changed(home.domain.domain));
  });
  countSignIn(request, 'saml', 'accepted');
  return reply.redirect(`${basePath(deps)}${next}`, 303);
}
