import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { certificate, certificate_key } from '../certificate.ts';
import { listenLocally } from '../loopback.ts';
import type { SnowflakeConfig } from '../../../server/engine/destinations/snowflake/config.ts';
import { SnowflakeRefusal, installDialect } from './dialect.ts';
import type { SnowflakeAnswer } from './session.ts';
import type { StorageKind } from './storage.ts';
import { openSnowflakeStorage } from './storage.ts';
import { isAfter, send, isTakenOver } from './state.ts';
import type { Body, SnowflakeFault, World } from './state.ts';
import { user, password, logIn, tokenOf, renew, logOut } from './sign_in.ts';
import { own_keys } from '../../factories/people/rsa_keys.ts';

/**
 * An account that speaks the protocol of Snowflake's clients on localhost, over TLS, with
 * PostgreSQL behind it, and the storage of its stages.
 */
export type SnowflakeServer = Pick<
  World,
  'user' | 'password' | 'private_key' | 'account' | 'statements' | 'unknown_paths'
> & {
  /** `localhost` and the port. */
  host: string;
  /** A valid config of a schema, with the password of the user. */
  config(schema: string): SnowflakeConfig;
  setStorage(kind: StorageKind): void;
  /** Takes over the next `times` matching requests: statements, and `LOGIN` or `UPLOAD`. */
  fail(pattern: RegExp, fault: SnowflakeFault, times?: number): void;
  /** Clears all faults of `fail`. */
  recover(): void;
  /** True if a request is held that will never be answered. */
  isHanging(): boolean;
  /** Expires the token of each session at its next request; it can be renewed. */
  expireTokens(): void;
  /** Forgets all sessions, as after four hours. */
  endSessions(): Promise<void>;
  /** Open sessions. */
  sessions(): number;
  close(): Promise<void>;
};

const right = {
  account: 'myorg-myaccount',
  user,
  password,
  database: 'ANALYTICS',
  warehouse: 'LOADING',
  role: 'EXPORTER',
};

/** The objects of the account, by kind. */
const known = {
  databases: [right.database],
  warehouses: [right.warehouse],
  roles: [right.role],
};

/**
 * Starts one over a database of PostgreSQL, which it prepares. It has one user, one warehouse, one
 * database and one role.
 */
export async function openSnowflakeServer(database_url: string): Promise<SnowflakeServer> {
  const admin = new pg.Client({ connectionString: database_url });
  await admin.connect();
  await installDialect(admin).finally(() => admin.end());
  const server = https.createServer({ cert: certificate, key: certificate_key });
  const { port, close } = await listenLocally(server);
  const host = `localhost:${port}`;
  const account = { ...known, database_url, storage: openSnowflakeStorage(host) };
  const world: World = {
    user,
    password,
    private_key: own_keys.private_pem,
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
    config: (schema) => ({ ...right, host, schema }),
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
      await close();
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
  // The storage refuses requests for the settings of its bucket.
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
  // A request with a known id is not run again.
  const id = new URL(request.url ?? '/', 'https://host').searchParams.get('requestId') ?? '';
  const running = tokens.answers.get(id) ?? tokens.session.execute(statement, bindings);
  tokens.answers.set(id, running);
  const answer = await running;
  const after = world.faults.find(
    ({ pattern, fault, times }) => isAfter(fault) && times > 0 && pattern.test(statement),
  );
  if (after !== undefined) {
    after.times -= 1;
    const { fault } = after;
    if (typeof fault !== 'object' || !('code' in fault)) return void response.destroy();
    throw new SnowflakeRefusal(fault.code, fault.sql_state ?? '', fault.message);
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
