import { createHash, randomUUID, verify } from 'node:crypto';
import type http from 'node:http';
import { SnowflakeRefusal } from './dialect.ts';
import { openSnowflakeSession } from './session.ts';
import { send } from './state.ts';
import type { Body, World } from './state.ts';
import { own_keys } from '../../factories/people/rsa_keys.ts';

/** The only user of the account. */
export const user = 'EXPORTS';
/** Their password. */
export const password = 'correct-horse';

/** Opens a session for a valid password or token. */
export async function logIn(
  world: World,
  body: Body,
  response: http.ServerResponse,
): Promise<void> {
  const { LOGIN_NAME, PASSWORD, AUTHENTICATOR, TOKEN } = body['data'] as Record<string, string>;
  if (AUTHENTICATOR === 'SNOWFLAKE_JWT') verifyToken(TOKEN ?? '');
  else if (LOGIN_NAME !== user || PASSWORD !== password)
    throw new SnowflakeRefusal('390100', '', 'Incorrect username or password was specified.');
  const token = randomUUID();
  const master = randomUUID();
  world.tokens.set(token, {
    session: await openSnowflakeSession(world.account),
    master,
    is_expired: false,
    answers: new Map(),
  });
  const parameters = [{ name: 'CLIENT_SESSION_KEEP_ALIVE', value: true }];
  send(response, {
    success: true,
    data: {
      token,
      masterToken: master,
      validityInSeconds: 3_600,
      masterValidityInSeconds: 14_400,
      sessionId: 1,
      parameters,
    },
  });
}

/**
 * Requires account and user in upper case, the fingerprint of the public key, and a valid
 * signature.
 */
function verifyToken(token: string): void {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    own_keys.publicKey,
    Buffer.from(signature, 'base64url'),
  );
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    iss: string;
    sub: string;
    exp: number;
  };
  const der = own_keys.publicKey.export({ type: 'spki', format: 'der' });
  const subject = `MYORG-MYACCOUNT.${user}`;
  const isRight =
    claims.sub === subject &&
    claims.iss === `${subject}.SHA256:${createHash('sha256').update(der).digest('base64')}` &&
    claims.exp * 1_000 > Date.now();
  if (!isSigned || !isRight)
    throw new SnowflakeRefusal('390144', '', 'JWT token is invalid. [0b9d8b6e]');
}

/** Returns the session token of a request; empty without one. */
export function tokenOf(request: http.IncomingMessage): string {
  return /^Snowflake Token="(.+)"$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

/** Renews the token of a session, for the master token that came with the old one. */
export function renew(
  world: World,
  request: http.IncomingMessage,
  body: Body,
  response: http.ServerResponse,
): void {
  const old = String(body['oldSessionToken']);
  const tokens = world.tokens.get(old);
  if (tokens === undefined || tokens.master !== tokenOf(request))
    throw new SnowflakeRefusal(
      '390114',
      '',
      'Authentication token has expired. The user must authenticate again.',
    );
  const token = randomUUID();
  world.tokens.delete(old);
  world.tokens.set(token, { ...tokens, is_expired: false });
  send(response, {
    success: true,
    data: {
      sessionToken: token,
      masterToken: tokens.master,
      validityInSecondsST: 3_600,
      validityInSecondsMT: 14_400,
      sessionId: 1,
    },
  });
}

/** Ends the session of the request. */
export async function logOut(
  world: World,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const token = tokenOf(request);
  const tokens = world.tokens.get(token);
  world.tokens.delete(token);
  await tokens?.session.close();
  send(response, { success: true, data: null });
}
