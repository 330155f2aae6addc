import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from './loopback.ts';

/** The credentials of our application there. */
export const vendor_client = { id: 'acme-app', secret: 'secret-of-the-acme-app' };

/** The vendor of a tool: an OAuth server on 127.0.0.1, and the API that accepts its tokens. */
export type OauthVendorServer = {
  url: string;
  /** Seconds for which an access token is valid; undefined: the answer does not name them. */
  expires_in: number | undefined;
  /** Answers of the token address from now on, instead of the correct ones. */
  token_answer: ((grant: string) => { status: number; body: object } | undefined) | undefined;
  /** Called with the answer to a refresh before it is sent; the tokens are valid by then. */
  beforeAnswer: (() => Promise<void>) | undefined;
  /** Bodies that the API accepted, with the token of each. */
  taken: { token: string; body: any }[];
  /** Number of refreshes that were answered with tokens. */
  refreshes: number;
  /** Number of refreshes with a token that had been replaced. */
  reuses: number;
  revoked: string[];
  /** The browser authorizes the request in the address; returns the address of the redirect. */
  authorize(url: string): string;
  /** Makes all access tokens invalid. */
  expireAll(): void;
  close(): Promise<void>;
};

type Grant = { challenge: string | null; redirect_uri: string; scope: string };
/** The valid codes and tokens. */
type Issued = { codes: Map<string, Grant>; access: Set<string>; refresh: Set<string> };

/**
 * Starts the vendor. A code is redeemed once, with the secret, the redirect address and the PKCE
 * verifier of its request. Each refresh replaces the refresh token; the use of a replaced one ends
 * all tokens, as RFC 9700 asks.
 */
export async function openOauthVendor(): Promise<OauthVendorServer> {
  const issued: Issued = { codes: new Map(), access: new Set(), refresh: new Set() };
  const server = createServer((request, response) => {
    answer(vendor, issued, request, response).catch(() => response.destroy());
  });
  const { port, close } = await listenLocally(server);
  const vendor: OauthVendorServer = {
    url: `http://127.0.0.1:${port}`,
    expires_in: 3_600,
    token_answer: undefined,
    beforeAnswer: undefined,
    taken: [],
    refreshes: 0,
    reuses: 0,
    revoked: [],
    authorize: (url) => authorize(issued, new URL(url).searchParams),
    expireAll: () => issued.access.clear(),
    close,
  };
  return vendor;
}

async function answer(
  vendor: OauthVendorServer,
  issued: Issued,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const body = await text(request);
  const json = (status: number, sent: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(sent));
  if (request.url?.startsWith('/authorize?') === true) {
    const location = vendor.authorize(new URL(request.url, vendor.url).href);
    return void response.writeHead(302, { location }).end();
  }
  if (request.url === '/token') {
    const [status, sent] = grantTokens(vendor, issued, new URLSearchParams(body));
    await vendor.beforeAnswer?.();
    return json(status, sent);
  }
  if (request.url === '/revoke') {
    const token = new URLSearchParams(body).get('token') ?? '';
    vendor.revoked.push(token);
    issued.access.delete(token);
    issued.refresh.delete(token);
    return json(200, {});
  }
  const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  if (!issued.access.has(token)) return json(401, { error: 'invalid_token' });
  vendor.taken.push({ token, body: JSON.parse(body) });
  return json(200, {});
}

/** Issues a code for the request; returns the next address of the browser. */
function authorize({ codes }: Issued, asked: URLSearchParams): string {
  const code = randomUUID();
  codes.set(code, {
    challenge: asked.get('code_challenge'),
    redirect_uri: asked.get('redirect_uri')!,
    scope: asked.get('scope') ?? '',
  });
  const back = new URL(asked.get('redirect_uri')!);
  back.searchParams.set('state', asked.get('state') ?? '');
  back.searchParams.set('code', code);
  back.searchParams.set('iss', 'https://issuer.example');
  return back.href;
}

function grantTokens(
  vendor: OauthVendorServer,
  issued: Issued,
  asked: URLSearchParams,
): [status: number, answer: object] {
  const grant = asked.get('grant_type') ?? '';
  const given = vendor.token_answer?.(grant);
  if (given !== undefined) return [given.status, given.body];
  const isClient =
    asked.get('client_id') === vendor_client.id &&
    asked.get('client_secret') === vendor_client.secret;
  if (!isClient) return [401, { error: 'invalid_client' }];
  const scope =
    grant === 'refresh_token' ? replaceToken(vendor, issued, asked) : redeemCode(issued, asked);
  if (scope === undefined) return [400, { error: 'invalid_grant' }];
  return [200, issueTokens(vendor, issued, scope)];
}

/** Uses up a refresh token; undefined if it was used before. */
function replaceToken(
  vendor: OauthVendorServer,
  { access, refresh }: Issued,
  asked: URLSearchParams,
): string | undefined {
  if (refresh.delete(asked.get('refresh_token') ?? '')) {
    vendor.refreshes += 1;
    return '';
  }
  vendor.reuses += 1;
  access.clear();
  refresh.clear();
  return undefined;
}

/** Uses up a code; returns its scope, or undefined if it belongs to another request. */
function redeemCode({ codes }: Issued, asked: URLSearchParams): string | undefined {
  const code = codes.get(asked.get('code') ?? '');
  codes.delete(asked.get('code') ?? '');
  const verifier = asked.get('code_verifier') ?? '';
  const isRight =
    code !== undefined &&
    code.redirect_uri === asked.get('redirect_uri') &&
    code.challenge === createHash('sha256').update(verifier).digest('base64url');
  return isRight ? code.scope : undefined;
}

function issueTokens({ expires_in }: OauthVendorServer, issued: Issued, scope: string): object {
  const access_token = `access-${randomUUID()}`;
  const refresh_token = `refresh-${randomUUID()}`;
  issued.access.add(access_token);
  issued.refresh.add(refresh_token);
  const tokens = { access_token, refresh_token, scope, hub_id: 4711 };
  return expires_in === undefined ? tokens : { ...tokens, expires_in };
}
