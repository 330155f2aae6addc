import {
  AuthorizationResponseError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  ResponseBodyError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  refreshTokenGrant,
  tokenRevocation,
} from 'openid-client';
import { isFields } from '../../../platform/fields.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { isSayable } from '../../../platform/outbound/outbound_faults.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';
import { readBounded } from '../../../platform/read_bounded.ts';
import type { OauthApplication } from './application.ts';

/** The tokens of an answer; `fields` is the whole answer, for vendor-specific facts. */
export type IssuedTokens = {
  access_token: string;
  refresh_token: string | undefined;
  expires_in: number | undefined;
  scopes: string | undefined;
  fields: Record<string, unknown>;
};

/**
 * Thrown if a vendor returns no tokens; the sentence contains no secrets. `is_final`: the vendor
 * refuses them, and a retry does not help.
 */
export class OauthFault extends Error {
  readonly is_final: boolean;
  constructor(message: string, is_final: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'OauthFault';
    this.is_final = is_final;
  }
}

type Out = { outbound: Pick<Outbound, 'fetch'> };
/** The secrets that connect the redirect back to its request. */
export type OauthSecrets = { state: string; verifier: string };

const time_limit_seconds = 10;
const answer_bytes_max = 1_048_576;

/** Returns the vendor's URL for the browser. */
export async function authorizeAddress(
  out: Out,
  application: OauthApplication,
  redirect_uri: string,
  { state, verifier }: OauthSecrets,
): Promise<string> {
  const { configuration } = open(out, application);
  const { scopes, uses_pkce } = application;
  const pkce = {
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  return buildAuthorizationUrl(configuration, {
    redirect_uri,
    state,
    ...(scopes === '' ? {} : { scope: scopes }),
    ...(uses_pkce ? pkce : {}),
  }).href;
}

/** Redeems the code in the query of the vendor's redirect. Throws an OauthFault. */
export async function redeemCode(
  out: Out,
  application: OauthApplication,
  redirect_uri: string,
  { state, verifier }: OauthSecrets,
  query: URLSearchParams,
): Promise<IssuedTokens> {
  const { configuration, last } = open(out, application);
  const url = new URL(redirect_uri);
  // Without the vendor's metadata, its issuer is unknown. Each tool has its own redirect address,
  // and the state belongs to one application, so no other vendor's code arrives here.
  for (const [name, value] of query) if (name !== 'iss') url.searchParams.append(name, value);
  const checks = {
    expectedState: state,
    ...(application.uses_pkce ? { pkceCodeVerifier: verifier } : {}),
  };
  return issued(() => authorizationCodeGrant(configuration, url, checks), last);
}

/** Exchanges a refresh token for new tokens. Throws an OauthFault. */
export async function refreshTokens(
  out: Out,
  application: OauthApplication,
  refresh_token: string,
): Promise<IssuedTokens> {
  const { configuration, last } = open(out, application);
  return issued(() => refreshTokenGrant(configuration, refresh_token), last);
}

/** Revokes a token and its related tokens (RFC 7009). Throws an OauthFault. */
export async function revokeToken(
  out: Out,
  application: OauthApplication,
  token: string,
  token_type_hint: 'access_token' | 'refresh_token',
): Promise<void> {
  const { configuration } = open(out, application);
  await explained(() => tokenRevocation(configuration, token, { token_type_hint }));
}

type Last = { fields: Record<string, unknown> };

/** Opens this server as a client of the vendor; the guard checks all of its requests. */
function open({ outbound }: Out, application: OauthApplication) {
  const { authorize_url, token_url, revoke_url, client_id, client_secret } = application;
  const last: Last = { fields: {} };
  const auth = application.client_auth === 'basic' ? ClientSecretBasic : ClientSecretPost;
  const configuration = new Configuration(
    {
      issuer: new URL(token_url).origin,
      authorization_endpoint: authorize_url,
      token_endpoint: token_url,
      ...(revoke_url === null ? {} : { revocation_endpoint: revoke_url }),
    },
    client_id,
    undefined,
    auth(client_secret),
  );
  configuration.timeout = time_limit_seconds;
  // Addresses without TLS were checked when they were stored.
  allowInsecureRequests(configuration);
  const fetch = async (url: string, options: object): Promise<Response> => {
    const answer = await outbound.fetch(url, options);
    return plainAnswer(answer.status, await textOf(answer.body ?? []), last);
  };
  configuration[customFetch] = fetch;
  return { configuration, last };
}

async function textOf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const tooLarge = () => new Error('The answer is larger than a MiB.');
  return (await readBounded(body, answer_bytes_max, tooLarge)).toString();
}

/**
 * Returns the answer in the standard's form. Some vendors omit the type of the token or of the
 * content. An ID token is not needed here.
 */
function plainAnswer(status: number, text: string, last: Last): Response {
  const read = parseJson(text);
  if (!isFields(read)) return new Response(text, { status });
  const { id_token: _unused, ...fields } = read;
  last.fields = fields;
  return Response.json({ token_type: 'bearer', ...fields }, { status });
}

type Granted = {
  access_token: string;
  refresh_token?: string;
  scope?: string;
  expires_in?: number;
};

async function issued(work: () => Promise<Granted>, last: Last): Promise<IssuedTokens> {
  const { access_token, refresh_token, scope, expires_in } = await explained(work);
  return { access_token, refresh_token, scopes: scope, expires_in, fields: last.fields };
}

async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw faultOf(error);
  }
}

/** Temporary error codes of a token endpoint (RFC 6749, 4.1.2.1). */
const passing = new Set(['server_error', 'temporarily_unavailable', 'slow_down']);

/** Only repeats the vendor's codes, because its sentences may contain anything. */
function faultOf(error: unknown): OauthFault {
  if (error instanceof AuthorizationResponseError)
    return new OauthFault(
      `The vendor did not authorize it: ${printable(error.error)}.`,
      true,
      error,
    );
  if (error instanceof ResponseBodyError) {
    const code = printable(error.error);
    const is_final = error.status < 500 && error.status !== 429 && !passing.has(error.error);
    return new OauthFault(`The vendor answered ${code} (${error.status}).`, is_final, error);
  }
  const { cause } = error as { cause?: unknown };
  if (isSayable(cause)) return new OauthFault(cause.message, false, error);
  const status = statusOf(cause);
  const told = status === undefined ? 'does not answer as OAuth 2.0 says' : `answered ${status}`;
  return new OauthFault(`The vendor ${told}.`, false, error);
}

function statusOf(cause: unknown): number | undefined {
  const { status } = (cause ?? {}) as { status?: unknown };
  return typeof status === 'number' ? status : undefined;
}

function printable(text: string): string {
  return text.slice(0, 60).replaceAll(/[^\w .-]/g, '?');
}
