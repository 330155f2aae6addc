import { sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { own_keys } from '../../factories/people/rsa_keys.ts';
import { listenLocally } from '../loopback.ts';

/** An OpenID issuer on 127.0.0.1 that gives tokens for client credentials. */
export type TokenIssuer = {
  url: string;
  token_uri: string;
  client_id: string;
  client_secret: string;
  /** Returns the number of tokens so far. */
  given(): number;
  /** Lets the next token be one that has expired already. */
  expireNext(): void;
  close(): Promise<void>;
};

const [client_id, client_secret] = ['a-client-of-tests', 'a-secret-that-only-tests-have'];
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Starts it. A server that trusts it fetches its key. */
export async function openTokenIssuer(): Promise<TokenIssuer> {
  let [given, is_expiring] = [0, false];
  const jwk = own_keys.publicKey.export({ format: 'jwk' });
  const newToken = () => {
    const now = Math.floor(Date.now() / 1_000) - (is_expiring ? 7_200 : 0);
    [given, is_expiring] = [given + 1, false];
    const claims = { iss: url, sub: client_id, aud: 'catalog', iat: now, exp: now + 3_600 };
    const signed = `${encode({ alg: 'RS256', typ: 'JWT', kid: 'own' })}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), own_keys.privateKey);
    return `${signed}.${signature.toString('base64url')}`;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/keys')
      return json(200, { keys: [{ ...jwk, kid: 'own', use: 'sig', alg: 'RS256' }] });
    if (request.url !== '/token')
      return json(200, { issuer: url, jwks_uri: `${url}/keys`, token_endpoint: token_uri });
    const asked = new URLSearchParams(await text(request));
    const is_known =
      asked.get('client_id') === client_id && asked.get('client_secret') === client_secret;
    if (!is_known || asked.get('grant_type') !== 'client_credentials')
      return json(401, { error: 'invalid_client' });
    return json(200, { access_token: newToken(), token_type: 'Bearer', expires_in: 3_600 });
  };
  const server = await listenLocally(
    createServer((request, response) => void answer(request, response)),
  );
  const url = `http://127.0.0.1:${server.port}`;
  const token_uri = `${url}/token`;
  return {
    url,
    token_uri,
    client_id,
    client_secret,
    given: () => given,
    expireNext: () => void (is_expiring = true),
    close: server.close,
  };
}
