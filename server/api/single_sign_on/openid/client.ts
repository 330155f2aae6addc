import {
  AuthorizationResponseError,
  ClientSecretPost,
  Configuration,
  ResponseBodyError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client';
import type { CustomFetch } from 'openid-client';
import type { Deps } from '../../../deps.ts';
import type { OpenidProvider } from '../../../platform/openid_providers.ts';
import { isSayable } from '../../../platform/outbound/outbound_faults.ts';
import { readGithubPerson, readOpenidPerson } from './person.ts';
import type { OpenidPerson } from './person.ts';
import { SignInRefused } from '../refusal.ts';

/**
 * The secrets that bind the callback to the request. Only the nonce leaves the server in the
 * request, and the verifier goes to the provider.
 */
export type OpenidSecrets = { state: string; nonce: string; verifier: string };

/** This server as a client of one provider. */
export type OpenidClient = {
  /**
   * Returns the address for the browser: an authorization request with PKCE (S256), state and,
   * except for GitHub, nonce.
   */
  begin(secrets: OpenidSecrets, login_hint: string | undefined): Promise<URL>;
  /**
   * Exchanges the code in the callback's query, verifies the answer, and returns the person whom
   * the provider vouches for.
   */
  finish(secrets: OpenidSecrets, query: string): Promise<OpenidPerson>;
};

type Needed = Pick<Deps, 'config' | 'outbound' | 'clock'>;

const time_limit_seconds = 10;
const unanswered = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);
const metadata_kept_ms = 3_600_000;
const google_issuer = 'https://accounts.google.com';
const github = {
  issuer: 'https://github.com/login/oauth',
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
};
const scopes: Record<OpenidProvider, string> = {
  'google-oauth2': 'openid email profile',
  gitlab: 'openid email profile',
  github: 'read:user user:email',
  openid: 'openid email profile',
};

/**
 * Opens the client of a configured provider. All its requests go through the outbound guard and
 * take at most 10 seconds; the provider's metadata is cached for an hour. Throws `SignInRefused`:
 * `provider_unavailable`, `provider_refused`, `provider_answer`.
 */
export function openOpenidClient(deps: Needed, provider: OpenidProvider): OpenidClient {
  const redirect_uri = `${deps.config.public_url}/complete/${provider}/`;
  const configuration = kept(deps, () => openConfiguration(deps, provider));
  const has_id_token = provider !== 'github';
  return {
    begin: ({ state, nonce, verifier }, login_hint) =>
      explained(async () =>
        buildAuthorizationUrl(await configuration(), {
          redirect_uri,
          scope: scopes[provider],
          state,
          code_challenge: await calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(has_id_token ? { nonce } : {}),
          ...(login_hint === undefined
            ? {}
            : { [has_id_token ? 'login_hint' : 'login']: login_hint }),
        }),
      ),
    finish: ({ state, nonce, verifier }, query) =>
      explained(async () => {
        const configured = await configuration();
        const checks = {
          expectedState: state,
          pkceCodeVerifier: verifier,
          ...(has_id_token ? { expectedNonce: nonce, idTokenExpected: true } : {}),
        };
        const tokens = await authorizationCodeGrant(
          configured,
          new URL(`${redirect_uri}${query}`),
          checks,
        );
        return has_id_token
          ? readOpenidPerson(configured, provider, tokens)
          : readGithubPerson(configured, tokens);
      }),
  };
}

async function openConfiguration(
  { config, outbound }: Needed,
  provider: OpenidProvider,
): Promise<Configuration> {
  const credentials: Record<OpenidProvider, [string | undefined, string | undefined]> = {
    'google-oauth2': [config.google_client_id, config.google_client_secret],
    github: [config.github_client_id, config.github_client_secret],
    gitlab: [config.gitlab_client_id, config.gitlab_client_secret],
    openid: [config.openid_client_id, config.openid_client_secret],
  };
  const [id = '', secret = ''] = credentials[provider];
  // undici's own types and the types of Node's globals describe the same objects.
  const guarded = ((url: string, options: object) =>
    outbound.fetch(url, options)) as unknown as CustomFetch;
  if (provider === 'github') {
    const configured = new Configuration(github, id, undefined, ClientSecretPost(secret));
    configured[customFetch] = guarded;
    configured.timeout = time_limit_seconds;
    return configured;
  }
  const issuers = {
    'google-oauth2': google_issuer,
    gitlab: config.gitlab_url,
    openid: config.openid_issuer ?? '',
  };
  const issuer = new URL(issuers[provider]);
  const execute = [
    enableNonRepudiationChecks,
    ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
  ];
  return discovery(issuer, id, undefined, ClientSecretPost(secret), {
    execute,
    timeout: time_limit_seconds,
    [customFetch]: guarded,
  });
}

/** Caches the result of `open` for an hour; errors are not cached. */
function kept<Opened>(
  { clock }: Pick<Needed, 'clock'>,
  open: () => Promise<Opened>,
): () => Promise<Opened> {
  let opened: { value: Promise<Opened>; until_ms: number } | undefined;
  return () => {
    if (opened === undefined || clock.now() >= opened.until_ms) {
      const fresh = { value: open(), until_ms: clock.now() + metadata_kept_ms };
      opened = fresh;
      fresh.value.catch(() => {
        if (opened === fresh) opened = undefined;
      });
    }
    return opened.value;
  };
}

/**
 * Turns the library's errors into refusals. Their messages are the library's own words. Their
 * causes have the provider's text; only error codes are kept.
 */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Error && !(error instanceof SignInRefused) ? refusalOf(error) : error;
  }
}

function refusalOf(error: Error): SignInRefused {
  if (error instanceof AuthorizationResponseError)
    return new SignInRefused(
      'provider_refused',
      `The provider did not sign the person in: ${printable(error.error)}.`,
    );
  if (error instanceof ResponseBodyError)
    return new SignInRefused(
      'provider_answer',
      `The provider did not accept the code: ${printable(error.error)}.`,
    );
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const isAnswer =
    typeof code === 'string' &&
    code.startsWith('OAUTH_') &&
    !unanswered.has(code) &&
    !isServerFault(cause);
  if (isAnswer)
    return new SignInRefused(
      'provider_answer',
      `The provider's answer was refused: ${error.message} (${code}).`,
    );
  const detail = isSayable(cause)
    ? cause.message
    : `The provider does not answer: ${error.message}.`;
  return new SignInRefused('provider_unavailable', detail, 503);
}

function isServerFault(cause: unknown): boolean {
  return (
    typeof cause === 'object' &&
    cause !== null &&
    Number((cause as { status?: unknown }).status) >= 500
  );
}

function printable(text: string): string {
  return text.slice(0, 60).replaceAll(/[^\w .-]/g, '?');
}
