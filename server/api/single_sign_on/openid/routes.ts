import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Deps } from '../../../deps.ts';
import { basePath } from '../../../platform/http/base_path.ts';
import { findBrowser, markBrowser } from '../../../platform/http/caller/browser_mark.ts';
import { randomBase62 } from '../../../platform/http/caller/api_key.ts';
import { html } from '../../../platform/http/pages/html.ts';
import { sendPage } from '../../../platform/http/pages/page.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { configuredProviders, openid_providers } from '../../../platform/openid_providers.ts';
import type { OpenidProvider } from '../../../platform/openid_providers.ts';
import { findVerifiedDomain } from '../../domains/store.ts';
import { findUserByEmail } from '../../users/store.ts';
import { signIn } from '../admit.ts';
import { browserRoute, countSignIn } from '../browser_route.ts';
import { localPath } from '../local_path.ts';
import { openOpenidClient } from './client.ts';
import type { OpenidClient, OpenidSecrets } from './client.ts';
import type { OpenidPerson } from './person.ts';
import { SignInRefused } from '../refusal.ts';
import { insertRequest, useOpenidRequest } from '../store.ts';

/** `email` is a hint for the provider's page: the account to sign in with. */
const Login = Type.Object({
  email: Type.Optional(Type.String()),
  next: Type.Optional(Type.String()),
});
/** The provider may add more parameters; the library gets all of them. */
const Completion = Type.Object({ state: Type.Optional(Type.String()) });

/**
 * Routes of sign-ins through the operator's OpenID providers: `/login/<provider>/` redirects to the
 * provider, and the provider redirects to `/complete/<provider>/`.
 */
export function openidRoutes(app: FastifyInstance, deps: Deps): void {
  const configured = configuredProviders(deps.config);
  for (const provider of openid_providers) {
    const client = configured.includes(provider) ? openOpenidClient(deps, provider) : undefined;
    app.get(`/login/${provider}/`, browserRoute(provider), async (request, reply) =>
      client === undefined
        ? sendPage(reply, 404, nowhere)
        : begin(deps, provider, client, request, reply),
    );
    app.get(`/complete/${provider}/`, browserRoute(provider), async (request, reply) =>
      client === undefined
        ? sendPage(reply, 404, nowhere)
        : complete(deps, provider, client, request, reply),
    );
  }
}

const nowhere = {
  title: 'No such sign-in',
  body: html`<p>
    This server has no sign-in with this provider. <a href="login">Sign in another way</a>.
  </p>`,
};

async function begin(
  deps: Deps,
  provider: OpenidProvider,
  client: OpenidClient,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { email, next } = query(request, Login);
  const state = randomBase62();
  const url = await client.begin(secretsOf(deps, state), email);
  await insertRequest(deps, {
    token: state,
    browser_hash: markBrowser(request, reply),
    provider,
    purpose: 'sign_in',
    next: localPath(next),
  });
  return reply.redirect(url.href, 303);
}

/**
 * Uses up the state before it calls the provider, so that only one of several requests with one
 * code exchanges it.
 */
async function complete(
  deps: Deps,
  provider: OpenidProvider,
  client: OpenidClient,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { state = '' } = query(request, Completion);
  const browser_hash = findBrowser(request);
  const begun =
    browser_hash === undefined
      ? undefined
      : await useOpenidRequest(deps, provider, state, browser_hash);
  if (begun === undefined)
    throw new SignInRefused(
      'other_browser',
      'This browser did not start the sign-in, or the sign-in was completed or has expired.',
    );
  const person = await client.finish(
    secretsOf(deps, state),
    new URL(request.url, deps.config.public_url).search,
  );
  const { subject, addresses: _all, ...names } = person;
  const email = await chooseAddress(deps, person);
  await signIn(
    deps,
    { request, reply },
    { ...names, email, method: provider, identity: { provider, subject } },
  );
  countSignIn(request, provider, 'accepted');
  return reply.redirect(`${basePath(deps)}${begun.next}`, 303);
}

/**
 * Derived from the state, so it needs no storage; nobody can derive it without the server's key.
 */
function secretsOf({ secrets }: Deps, state: string): OpenidSecrets {
  const derived = (purpose: string) =>
    secrets.hash(`openid ${purpose} ${state}`).toString('base64url');
  return { state, nonce: derived('nonce'), verifier: derived('verifier') };
}

/**
 * Chooses among the person's addresses: the first with an account, or the first in a verified
 * domain, or the main one.
 */
async function chooseAddress({ db, config }: Deps, { addresses }: OpenidPerson): Promise<string> {
  for (const address of addresses)
    if ((await findUserByEmail(db, address)) !== undefined) return address;
  for (const address of addresses)
    if ((await findVerifiedDomain(db, config, address)) !== undefined) return address;
  return addresses[0]!;
}
