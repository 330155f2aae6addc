import { createHash, createHmac, randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from './loopback.ts';
import type { Outbound } from '../../server/platform/outbound/outbound.ts';
import { own_keys, other_keys } from '../factories/people/rsa_keys.ts';

/**
 * The person that the provider signs in. `claims` are added to the ID token, `info` to the
 * userinfo; `emails` is GitHub's list.
 */
export type OpenidTestPerson = {
  sub: string;
  claims?: Record<string, unknown>;
  info?: Record<string, unknown>;
  emails?: { email: string; primary: boolean; verified: boolean }[];
};

/** The provider's faults, from the next request on. */
export type OpenidFault =
  | 'algorithm_none'
  | 'another_audience'
  | 'another_issuer'
  | 'another_key'
  | 'another_nonce'
  | 'another_subject'
  | 'broken_json'
  | 'expired'
  | 'html'
  | 'no_id_token'
  | 'no_nonce'
  | 'refused'
  | 'server_fault'
  | 'signed_with_secret'
  | 'token_error';

/**
 * Google, GitHub, a GitLab and another provider on 127.0.0.1. A server calls them through
 * `outbound`, a browser with `visit`.
 */
export type OpenidTestProvider = {
  /** The address of the GitLab. */
  gitlab_url: string;
  /** The issuer of the other provider, including its slash at the end. */
  openid_issuer: string;
  person: OpenidTestPerson;
  fault: OpenidFault | undefined;
  /** The code challenges and codes of the requests, newest last. */
  codes: string[];
  /** `outbound`, with Google's and GitHub's hosts at this provider. */
  route(outbound: Outbound): Outbound;
  /**
   * Opens the address of an authorization request in the browser and signs in there; returns the
   * redirect.
   */
  visit(url: string): Promise<string>;
  close(): Promise<void>;
};

/** The credentials of the server at every provider. */
export const openid_client = { id: 'sluice-client', secret: 'sluice-secret-of-the-test' };

const routed_hosts = new Set(['accounts.google.com', 'github.com', 'api.github.com']);
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

type Grant = { challenge: string; redirect_uri: string; nonce: string | null };

/**
 * Starts the providers. A code is redeemed once, by its client, with its secret, the same redirect
 * URI and the right PKCE verifier.
 */
export async function openOpenidProvider(): Promise<OpenidTestProvider> {
  const server = createServer(
    (request, response) => void answer(provider, grants, request, response),
  );
  const { port, close } = await listenLocally(server);
  const own = `http://127.0.0.1:${port}`;
  const grants = new Map<string, Grant>();
  const locate = (url: string) => {
    const { hostname, pathname, search } = new URL(url);
    return routed_hosts.has(hostname) ? `${own}/${hostname}${pathname}${search}` : url;
  };
  const provider: OpenidTestProvider = {
    gitlab_url: `${own}/gitlab`,
    openid_issuer: `${own}/openid/`,
    person: { sub: '1' },
    fault: undefined,
    codes: [],
    route: (outbound) => ({
      ...outbound,
      fetch: (url, init) => outbound.fetch(locate(String(url)), init),
    }),
    visit: async (url) =>
      (await fetch(locate(url), { redirect: 'manual' })).headers.get('location') ?? '',
    close,
  };
  return provider;
}

async function answer(
  provider: OpenidTestProvider,
  grants: Map<string, Grant>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  const [, host = '', ...segments] = url.pathname.split('/');
  const json = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (provider.fault === 'server_fault') return void response.writeHead(503).end('down');
  if (provider.fault === 'html')
    return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
  if (provider.fault === 'broken_json')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('{');
  const own: Record<string, string> = {
    gitlab: provider.gitlab_url,
    openid: provider.openid_issuer,
  };
  const issuer = own[host] ?? `https://${host}`;
  const { sub, info, emails } = provider.person;
  switch (segments.at(-1)) {
    case 'openid-configuration':
      return void json(200, discoveryOf(issuer));
    case 'keys':
      return void json(200, {
        keys: [
          { ...own_keys.publicKey.export({ format: 'jwk' }), kid: 'own', use: 'sig', alg: 'RS256' },
        ],
      });
    case 'authorize':
      return void response
        .writeHead(302, { location: authorize(provider, grants, url.searchParams) })
        .end();
    case 'token':
    case 'access_token':
      return void json(
        ...redeem(provider, grants, issuer, new URLSearchParams(await text(request))),
      );
    case 'userinfo':
      return void json(200, {
        sub: provider.fault === 'another_subject' ? 'another' : sub,
        ...info,
      });
    case 'user':
      return void json(200, { id: Number(sub), ...info });
    case 'emails':
      return void json(200, emails ?? []);
    default:
      json(404, {});
  }
}

function discoveryOf(issuer: string) {
  const endpoints = {
    authorization_endpoint: 'authorize',
    token_endpoint: 'token',
    userinfo_endpoint: 'userinfo',
    jwks_uri: 'keys',
  };
  return {
    issuer,
    ...Object.fromEntries(
      Object.entries(endpoints).map(([name, path]) => [
        name,
        `${issuer.replace(/\/$/, '')}/${path}`,
      ]),
    ),
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
}

function authorize(
  provider: OpenidTestProvider,
  grants: Map<string, Grant>,
  asked: URLSearchParams,
): string {
  const back = new URL(asked.get('redirect_uri') ?? '');
  back.searchParams.set('state', asked.get('state') ?? '');
  const isInOrder =
    asked.get('client_id') === openid_client.id &&
    asked.get('code_challenge_method') === 'S256' &&
    asked.get('response_type') === 'code';
  if (!isInOrder || provider.fault === 'refused') {
    back.searchParams.set('error', 'access_denied');
    return back.href;
  }
  const code = randomUUID();
  provider.codes.push(code);
  grants.set(code, {
    challenge: asked.get('code_challenge') ?? '',
    redirect_uri: asked.get('redirect_uri')!,
    nonce: asked.get('nonce'),
  });
  back.searchParams.set('code', code);
  return back.href;
}

function redeem(
  provider: OpenidTestProvider,
  grants: Map<string, Grant>,
  issuer: string,
  asked: URLSearchParams,
): [number, unknown] {
  const code = asked.get('code') ?? '';
  const grant = grants.get(code);
  grants.delete(code);
  const challenge = createHash('sha256')
    .update(asked.get('code_verifier') ?? '')
    .digest('base64url');
  const isClient =
    asked.get('client_id') === openid_client.id &&
    asked.get('client_secret') === openid_client.secret;
  const isRight =
    grant !== undefined &&
    isClient &&
    grant.challenge === challenge &&
    grant.redirect_uri === asked.get('redirect_uri');
  if (!isRight || provider.fault === 'token_error') return [400, { error: 'invalid_grant' }];
  const tokens = { access_token: `access-${code}`, token_type: 'bearer', expires_in: 300 };
  const hasIdToken = issuer !== 'https://github.com' && provider.fault !== 'no_id_token';
  return [
    200,
    hasIdToken ? { ...tokens, id_token: idToken(provider, issuer, grant.nonce) } : tokens,
  ];
}

function idToken(
  { fault, person }: OpenidTestProvider,
  issuer: string,
  nonce: string | null,
): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: fault === 'another_issuer' ? 'https://issuer.example' : issuer,
    aud: fault === 'another_audience' ? 'another-client' : openid_client.id,
    sub: person.sub,
    iat: fault === 'expired' ? now - 7_200 : now,
    exp: fault === 'expired' ? now - 3_600 : now + 300,
    ...(fault === 'no_nonce' ? {} : { nonce: fault === 'another_nonce' ? 'another' : nonce }),
    ...person.claims,
  };
  const alg =
    fault === 'algorithm_none' ? 'none' : fault === 'signed_with_secret' ? 'HS256' : 'RS256';
  const signed = `${encode({ alg, kid: 'own' })}.${encode(claims)}`;
  if (alg === 'none') return `${signed}.`;
  if (alg === 'HS256') {
    const hmac = createHmac('sha256', openid_client.secret).update(signed);
    return `${signed}.${hmac.digest('base64url')}`;
  }
  const { privateKey } = fault === 'another_key' ? other_keys : own_keys;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}
