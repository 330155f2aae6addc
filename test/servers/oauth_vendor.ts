import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from './loopback.ts';

/** The credentials of our application there. */
export const vendor_client = { id: 'acme-app', secret: 'secret-of-the-acme-app' };

/** The vendor of a tool: an OAuth server on 127.0.0.1, and the API that takes its tokens. */
export type OauthVendorServer = {
  url: string;
  /** Seconds for which an access token is good; undefined: the answer does not say. */
  expires_in: number | undefined;
  /** Answers of the token address from now on, instead of the right ones. */
  token_answer: ((grant: string) => { status: number; body: object } | undefined) | undefined;
  /** Called with the answer to a refresh before it is sent; the tokens are valid by then. */
  beforeAnswer: (() => Promise<void>) | undefined;
  /** Bodies that the API took, with the token of each. */
  taken: { token: string; body: any }[];
  /** Number of refreshes that were answered with tokens. */
  refreshes: number;
  /** Number of refreshes with a token that had been replaced. */
  reuses: number;
  revoked: string[];
  /** The browser authorizes what the address asks for; gives where it is sent then. */
  authorize(url: string): string;
  /** Makes all access tokens invalid. */
  expireAll(): void;
  close(): Promise<void>;
};

type Grant = { challenge: string | null; redirect_uri: string; scope: string };

/**
 * Starts the vendor. A code is redeemed once, with the secret, the redirect address and the PKCE
 * verifier of its request. Each refresh replaces the refresh token; the use of a replaced one ends
 * all tokens, as RFC 9700 asks.
 */
export async function openOauthVendor(): Promise<OauthVendorServer> {
  const codes = new Map<string, Grant>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const issue = (scope: string) => {
    const tokens = {
      access_token: `access-${randomUUID()}`,
      refresh_token: `refresh-${randomUUID()}`,
    };
    access.add(tokens.access_token);
    refresh.add(tokens.refresh_token);
    const { expires_in } = vendor;
    return { ...tokens, scope, hub_id: 4711, ...(expires_in === undefined ? {} : { expires_in }) };
  };
  const grantTokens = (asked: URLSearchParams): [number, object] => {
    const grant = asked.get('grant_type') ?? '';
    const given = vendor.token_answer?.(grant);
    if (given !== undefined) return [given.status, given.body];
    const isClient =
      asked.get('client_id') === vendor_client.id &&
      asked.get('client_secret') === vendor_client.secret;
    if (!isClient) return [401, { error: 'invalid_client' }];
    if (grant === 'refresh_token') {
      const token = asked.get('refresh_token') ?? '';
      if (!refresh.delete(token)) {
        vendor.reuses += 1;
        access.clear();
        refresh.clear();
        return [400, { error: 'invalid_grant' }];
      }
      vendor.refreshes += 1;
      return [200, issue('')];
    }
    const code = codes.get(asked.get('code') ?? '');
    codes.delete(asked.get('code') ?? '');
    const verifier = asked.get('code_verifier') ?? '';
    const isRight =
      code !== undefined &&
      code.redirect_uri === asked.get('redirect_uri') &&
      code.challenge === createHash('sha256').update(verifier).digest('base64url');
    return isRight ? [200, issue(code.scope)] : [400, { error: 'invalid_grant' }];
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const body = await text(request);
    const json = (status: number, sent: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(sent));
    if (request.url?.startsWith('/authorize?') === true) {
      const location = vendor.authorize(new URL(request.url, vendor.url).href);
      return void response.writeHead(302, { location }).end();
    }
    if (request.url === '/token') {
      const [status, sent] = grantTokens(new URLSearchParams(body));
      await vendor.beforeAnswer?.();
      return json(status, sent);
    }
    if (request.url === '/revoke') {
      const token = new URLSearchParams(body).get('token') ?? '';
      vendor.revoked.push(token);
      access.delete(token);
      refresh.delete(token);
      return json(200, {});
    }
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    if (!access.has(token)) return json(401, { error: 'invalid_token' });
    vendor.taken.push({ token, body: JSON.parse(body) });
    return json(200, {});
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
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
    authorize: (url) => {
      const asked = new URL(url).searchParams;
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
    },
    expireAll: () => access.clear(),
    close,
  };
  return vendor;
}
