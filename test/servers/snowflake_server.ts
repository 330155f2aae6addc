import { createHash, createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { SnowflakeRefusal, installDialect } from './snowflake_dialect.ts';
import { openSnowflakeSession } from './snowflake_session.ts';
import type { SnowflakeAccount, SnowflakeAnswer, SnowflakeSession } from './snowflake_session.ts';
import { openSnowflakeStorage } from './snowflake_storage.ts';
import type { StorageKind } from './snowflake_storage.ts';

/**
 * What happens to a request instead of its answer. `after` runs the statement first, and then
 * breaks the connection.
 */
export type SnowflakeFault =
  | { code: string; message: string; sql_state?: string }
  | { status: number }
  | 'hang'
  | 'drop'
  | 'after';

/**
 * An account that speaks the protocol of Snowflake's clients on localhost, over TLS, with
 * PostgreSQL behind it, and the storage of its stages.
 */
export type SnowflakeServer = {
  /** `localhost` and the port. */
  host: string;
  user: string;
  password: string;
  /** PKCS #8 in PEM. */
  private_key: string;
  account: SnowflakeAccount;
  /** Statements that it was sent. */
  statements: string[];
  /** Paths of requests that it has no answer for: what the client sends of its own accord. */
  unknown_paths: string[];
  setStorage(kind: StorageKind): void;
  /** Takes over the next `times` requests that match: statements, and `LOGIN` or `UPLOAD`. */
  fail(pattern: RegExp, fault: SnowflakeFault, times?: number): void;
  /** Takes back all that `fail` has asked for. */
  recover(): void;
  /** Is a request held that will never be answered? */
  isHanging(): boolean;
  /** The next request of each session hears that its token has ended; it can be renewed. */
  expireTokens(): void;
  /** Forgets all sessions, as after four hours. */
  endSessions(): Promise<void>;
  /** Sessions that are open. */
  sessions(): number;
  close(): Promise<void>;
};

type Body = Record<string, unknown>;
type Tokens = {
  session: SnowflakeSession;
  master: string;
  is_expired: boolean;
  answers: Map<string, Promise<SnowflakeAnswer>>;
};
type World = Omit<
  SnowflakeServer,
  | 'host'
  | 'close'
  | 'fail'
  | 'recover'
  | 'isHanging'
  | 'setStorage'
  | 'expireTokens'
  | 'endSessions'
  | 'sessions'
> & {
  is_hanging: boolean;
  tokens: Map<string, Tokens>;
  faults: { pattern: RegExp; fault: SnowflakeFault; times: number }[];
};

const certificates = new URL('../certificates/', import.meta.url);
const user = 'EXPORTS';
const password = 'correct-horse';
const keys = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

/**
 * Starts one over a database of PostgreSQL, which is made fit for it. It knows one user, one
 * warehouse, one database and one role.
 */
export async function openSnowflakeServer(database_url: string): Promise<SnowflakeServer> {
  const admin = new pg.Client({ connectionString: database_url });
  await admin.connect();
  await installDialect(admin).finally(() => admin.end());
  const server = https.createServer({
    cert: readFileSync(new URL('localhost.crt', certificates)),
    key: readFileSync(new URL('localhost.key', certificates)),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const account = {
    database_url,
    databases: ['ANALYTICS'],
    warehouses: ['LOADING'],
    roles: ['EXPORTER'],
    storage: openSnowflakeStorage(host),
  };
  const world: World = {
    user,
    password,
    private_key: keys.privateKey,
    account,
    statements: [],
    unknown_paths: [],
    tokens: new Map(),
    faults: [],
    is_hanging: false,
  };
  server.on('request', (request, response) => {
    handle(world, request, response).catch((error: Error) => {
      if (!(error instanceof SnowflakeRefusal)) throw error;
      send(response, {
        success: false,
        code: error.code,
        message: error.message,
        data: { sqlState: error.sql_state },
      });
    });
  });
  const endSessions = async () => {
    const ended = [...world.tokens.values()];
    world.tokens.clear();
    await Promise.all(ended.map(({ session }) => session.close()));
  };
  return {
    ...world,
    host,
    setStorage: (kind) => (account.storage.kind = kind),
    fail: (pattern, fault, times = 1) => void world.faults.push({ pattern, fault, times }),
    recover: () => {
      world.faults = [];
      world.is_hanging = false;
    },
    isHanging: () => world.is_hanging,
    expireTokens: () => world.tokens.forEach((tokens) => (tokens.is_expired = true)),
    sessions: () => world.tokens.size,
    endSessions,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await endSessions();
    },
  };
}

async function handle(
  world: World,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'https://host');
  const raw = await buffer(request).catch(() => undefined);
  if (raw === undefined) return;
  if (request.method === 'PUT')
    return isTakenOver(world, 'UPLOAD', response)
      ? undefined
      : world.account.storage.take(request, raw, response);
  // Asked for the settings of its bucket, the storage refuses.
  if (request.method === 'GET' && world.account.storage.owns(pathname))
    return void response.writeHead(403).end();
  const body =
    raw.length === 0
      ? {}
      : (JSON.parse(
          (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString(),
        ) as Body);
  switch (pathname) {
    case '/session/v1/login-request':
      return isTakenOver(world, 'LOGIN', response) ? undefined : logIn(world, body, response);
    case '/session/token-request':
      return renew(world, request, body, response);
    case '/session/heartbeat':
      return send(response, { success: true, data: null });
    case '/session':
      return logOut(world, request, response);
    case '/queries/v1/query-request':
      return runStatement(world, request, body, response);
    default:
      world.unknown_paths.push(pathname);
      response.writeHead(404).end();
  }
}

function send(response: http.ServerResponse, body: Body): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Does what was asked for instead of an answer; `after` is for the caller. */
function isTakenOver(world: World, subject: string, response: http.ServerResponse): boolean {
  const found = world.faults.find(({ pattern, times }) => times > 0 && pattern.test(subject));
  if (found === undefined || found.fault === 'after') return false;
  found.times -= 1;
  const { fault } = found;
  if (fault === 'hang') world.is_hanging = true;
  else if (fault === 'drop') response.destroy();
  else if ('status' in fault)
    response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html>no</html>');
  else throw new SnowflakeRefusal(fault.code, fault.sql_state ?? '', fault.message);
  return true;
}

async function logIn(world: World, body: Body, response: http.ServerResponse): Promise<void> {
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
 * Account and user in upper case, the fingerprint of the public key, and a signature that is right.
 */
function verifyToken(token: string): void {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    createPublicKey(keys.publicKey),
    Buffer.from(signature, 'base64url'),
  );
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    iss: string;
    sub: string;
    exp: number;
  };
  const der = createPublicKey(keys.publicKey).export({ type: 'spki', format: 'der' });
  const subject = `MYORG-MYACCOUNT.${user}`;
  const isRight =
    claims.sub === subject &&
    claims.iss === `${subject}.SHA256:${createHash('sha256').update(der).digest('base64')}` &&
    claims.exp * 1_000 > Date.now();
  if (!isSigned || !isRight)
    throw new SnowflakeRefusal('390144', '', 'JWT token is invalid. [0b9d8b6e]');
}

function tokenOf(request: http.IncomingMessage): string {
  return /^Snowflake Token="(.+)"$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

function renew(
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

async function logOut(
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

async function runStatement(
  world: World,
  request: http.IncomingMessage,
  body: Body,
  response: http.ServerResponse,
): Promise<void> {
  const tokens = world.tokens.get(tokenOf(request));
  if (tokens === undefined)
    throw new SnowflakeRefusal(
      '390111',
      '',
      'Session no longer exists. New login required to access the service.',
    );
  if (tokens.is_expired)
    throw new SnowflakeRefusal('390112', '', 'Your session has expired. Please login again.');
  const statement = String(body['sqlText']);
  world.statements.push(statement);
  if (isTakenOver(world, statement, response)) return;
  const bindings = Object.values(
    (body['bindings'] ?? {}) as Record<string, { value: string | null }>,
  ).map(({ value }) => value);
  // A request that is sent again by its id is not run again.
  const id = new URL(request.url ?? '/', 'https://host').searchParams.get('requestId') ?? '';
  const running = tokens.answers.get(id) ?? tokens.session.execute(statement, bindings);
  tokens.answers.set(id, running);
  const answer = await running;
  const after = world.faults.find(
    ({ pattern, fault, times }) => fault === 'after' && times > 0 && pattern.test(statement),
  );
  if (after !== undefined) {
    after.times -= 1;
    return void response.destroy();
  }
  send(response, { success: true, code: null, data: dataOf(answer) });
}

function dataOf(answer: SnowflakeAnswer): Body {
  if ('transfer' in answer) return answer.transfer;
  return {
    parameters: [],
    rowtype: answer.columns.map(({ name, type }) => ({
      name,
      type,
      nullable: true,
      scale: 0,
      precision: 38,
      length: null,
    })),
    rowset: answer.rows,
    total: answer.rows.length,
    returned: answer.rows.length,
    queryId: randomUUID(),
    queryResultFormat: 'json',
    sqlState: '00000',
    statementTypeId: 4_096,
  };
}
