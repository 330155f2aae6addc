import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { FastifyInstance } from 'fastify';
import type { ApiKeyFields } from '../server/api/api_keys/store.ts';
import { buildApp } from '../server/app.ts';
import { readConfig } from '../server/config/config.ts';
import type { Deps } from '../server/deps.ts';
import { withEngine } from '../server/with_engine.ts';
import { openSandbox } from '../server/engine/plugins/sandbox/sandbox.ts';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { systemClock } from '../server/platform/clock.ts';
import { openDns } from '../server/platform/dns/dns.ts';
import { silentLog } from '../server/platform/log.ts';
import { openMail } from '../server/platform/mail/mail.ts';
import { openQueryBudget } from '../server/engine/query/query_budget.ts';
import { openOutbound } from '../server/platform/outbound/outbound.ts';
import { openDatabase } from '../server/platform/postgres/database.ts';
import { openSecrets } from '../server/platform/secrets/secrets.ts';
import {
  giveSecondFactor,
  newKey,
  newMember,
  newOrganization,
  newSession,
} from './factories/people/members.ts';
import type { Caller, OwnOrganization } from './factories/people/members.ts';
import { watchAnswers } from './watchers/answers.ts';
import type { Document } from './watchers/document.ts';
import { collectHiddenRoutes } from './watchers/hidden_routes.ts';
import { watchSecrets } from './watchers/planted.ts';
import type { PlantedSecrets } from './watchers/planted.ts';
import { watchChanges } from './watchers/recorded.ts';
import type { RecordedChanges } from './watchers/recorded.ts';
import { openTestStores } from './harness_stores.ts';
import type { StoreUrls } from './harness_stores.ts';
import { withoutDisk } from './without_disk.ts';

/** A test's request: `body` is sent as JSON, a text or bytes unchanged. */
export type Sent = { key?: string; body?: unknown; headers?: Record<string, string> };
/** The answer; `body` is parsed JSON, or other content as text, undefined if it is empty. */
export type Answer = {
  status: number;
  headers: Record<string, string | undefined>;
  body: any;
  text: string;
};
type Asking = {
  /** Sends one request with the key, as `request` of the harness does. */
  ask(method: string, path: string, body?: unknown, headers?: Sent['headers']): Promise<Answer>;
};
/** A person in a separate organization of one test. */
export type Member = Caller & Asking;
/** An organization of one test with its project, and a caller in it. */
export type TestOrganization = OwnOrganization & Asking;
/** A server on real stores, and the helpers that a test needs to use it. */
export type Harness = {
  deps: Deps;
  app: FastifyInstance;
  /** The addresses of its stores, for a test's own process. */
  stores: StoreUrls;
  /**
   * Sends a request through the whole server. Fails the test if the answer is a 500, or is not
   * documented with this status and shape.
   */
  request(method: string, path: string, sent?: Sent): Promise<Answer>;
  /**
   * Creates an organization with a project, and a caller with the level (by default 15) and a key
   * (by default with all scopes).
   */
  newOrganization(options?: {
    level?: 1 | 8 | 15;
    scopes?: string[];
    name?: string;
  }): Promise<TestOrganization>;
  /** Creates another person, with a key, in the organization. */
  newMember(organization_id: string, level: 1 | 8 | 15, scopes?: string[]): Promise<Member>;
  /** Creates another key of the person. */
  newKey(user: { id: number }, fields?: Partial<ApiKeyFields>): Promise<string>;
  /** Returns the `cookie` header of a browser in which the person is signed in. */
  newSession(user: { id: number }): Promise<string>;
  /** Sets up the person's second factor, with codes that nobody knows. */
  giveSecondFactor(user: { id: number }): Promise<void>;
  /** The routes that the OpenAPI document leaves out. */
  hiddenRoutes(): Document['paths'];
  close(): Promise<void>;
};

/** `build` creates another app than the whole one, for tests that need their own routes. */
export type HarnessOptions = {
  clickhouse?: boolean | 'own';
  config?: Partial<Deps['config']>;
  deps?: Partial<Deps>;
  build?: (deps: Deps) => FastifyInstance;
  /** False: answers are not checked, for campaigns that check them. */
  watch?: boolean;
};

const public_url = 'http://127.0.0.1:8000';

/**
 * Opens a server on real stores for one test file, which closes it. `deps` replaces parts (clock,
 * config) before the app is built. With `clickhouse: false` the file has no analytics store. The
 * test file keeps its harness until its process ends. So a closed one releases its server, which is
 * 19 MB.
 */
export async function openHarness(options: HarnessOptions = {}): Promise<Harness> {
  let opened: Opened | undefined = await openServer(options);
  return harnessOf(
    () => opened ?? assert.fail('This harness is closed.'),
    async () => {
      await opened?.close().finally(() => (opened = undefined));
    },
  );
}

/** The servers that files of this process share: one with ClickHouse, and one without. */
const shared = new Map<boolean, { users: number; opening?: Promise<Opened> }>();

/**
 * Returns the server that test files of this process share, one after another, each with its own
 * organizations. It is for files that need no other clock, mail or setting, and read nothing that
 * belongs to all organizations. Each file calls it while it is loaded, so that the remaining files
 * are known. `opened` creates the records that the file's tests need, because a hook of the file
 * may run before a server exists. After each file, it makes the checks of a harness's `close`.
 */
export function shareHarness({
  clickhouse = true,
  opened: prepare,
}: { clickhouse?: boolean; opened?: () => Promise<unknown> } = {}): Harness {
  const server = shared.get(clickhouse) ?? { users: 0 };
  shared.set(clickhouse, server);
  server.users += 1;
  let opened: Opened | undefined;
  before(async () => {
    opened = await (server.opening ??= openServer({ clickhouse }));
    await prepare?.();
  });
  after(async () => {
    server.users -= 1;
    if (server.users === 0) shared.delete(clickhouse);
    await (server.users === 0 ? opened?.close() : opened?.lookBack());
    opened = undefined;
  });
  return harnessOf(
    () => opened ?? assert.fail('The shared server is there in the hooks and tests of its file.'),
    () => Promise.reject(new Error('The shared server is closed behind its last file.')),
  );
}

async function openServer(options: HarnessOptions): Promise<Opened> {
  const stores = await openTestStores({ clickhouse: options.clickhouse ?? true });
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const planted = watchSecrets();
  const recorded = watchChanges();
  const deps = withEngine({
    config: {
      ...readConfig({ SLUICE_RATE_LIMIT_PER_MINUTE: '0', SLUICE_RATE_LIMIT_PER_HOUR: '0' }),
      ...options.config,
    },
    clock: systemClock,
    log: planted.log,
    db: openDatabase(stores.database_url, { connections_max: 8, application_name: 'sluice-test' }),
    clickhouse: openClickHouse(stores.clickhouse_url, { application: 'sluice-test' }),
    secrets: openSecrets('a secret that only tests have, 32 or more'),
    outbound,
    dns: openDns({ servers: ['127.0.0.1:9'], time_limit_ms: 1_000, log: silentLog() }),
    mail: openMail({
      url: undefined,
      from: 'Sluice <sluice@example.com>',
      log: planted.log,
      clock: systemClock,
    }),
    tracer: undefined,
    ...withoutDisk(planted.log),
    query_budget: openQueryBudget((options.config?.query_memory_total_mb ?? 2048) * 1024 * 1024),
    sandbox: await openSandbox({ outbound, log: planted.log, clock: systemClock, public_url }),
    ...options.deps,
  });
  const app = (options.build ?? buildApp)(deps);
  const hiddenRoutes = collectHiddenRoutes(app);
  const faultsOf = watched(app, options, hiddenRoutes);
  await app.ready();
  const lookBack = async () => {
    await deps.security_log.flush();
    await planted.search(deps.db);
    // A test's own routes need not change anything.
    if (options.build === undefined) await recorded.check(deps.db);
  };
  const close = async () => {
    await app.close();
    await deps.outbox.close();
    await deps.mail.close();
    try {
      await lookBack();
    } finally {
      await closeAll([deps.db, deps.clickhouse, outbound, deps.sandbox]);
      await stores.close();
    }
  };
  return { deps, app, stores, hiddenRoutes, faultsOf, planted, recorded, lookBack, close };
}

/** Returns the functions with which a test file uses its open server. */
function harnessOf(parts: () => Opened, close: () => Promise<void>): Harness {
  const asking = <Someone extends Caller>(someone: Someone): Someone & Asking => ({
    ...someone,
    ask: (method, path, body, headers = {}) =>
      send(parts(), method, path, { key: someone.key, body, headers }),
  });
  return {
    get deps() {
      return parts().deps;
    },
    get app() {
      return parts().app;
    },
    get stores() {
      return parts().stores;
    },
    hiddenRoutes: () => parts().hiddenRoutes(),
    request: (method, path, sent) => send(parts(), method, path, sent),
    newOrganization: async (wanted) => asking(await newOrganization(parts().deps, wanted)),
    newMember: async (organization_id, level, scopes) =>
      asking(await newMember(parts().deps, organization_id, level, scopes)),
    newKey: (user, fields) => newKey(parts().deps, user, fields),
    newSession: (user) => newSession(parts().deps, user),
    giveSecondFactor: (user) => giveSecondFactor(parts().deps, user),
    close,
  };
}

function watched(
  app: FastifyInstance,
  { watch = true, build }: HarnessOptions,
  hiddenRoutes: Harness['hiddenRoutes'],
): () => string[] {
  return watch ? watchAnswers(app, build === undefined, hiddenRoutes) : () => [];
}

/** Closes all parts; an open one would keep the test file from ending. */
async function closeAll(parts: { close(): Promise<unknown> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.close()));
}

type Opened = Pick<Harness, 'deps' | 'app' | 'stores' | 'hiddenRoutes'> & {
  faultsOf: () => string[];
  planted: PlantedSecrets;
  recorded: RecordedChanges;
  /** Fails if a request since the last check left a secret, or a change left no entry. */
  lookBack(): Promise<void>;
  close(): Promise<void>;
};

async function send(
  { app, faultsOf, planted, recorded }: Opened,
  method: string,
  path: string,
  sent: Sent = {},
): Promise<Answer> {
  const headers: Record<string, string> = {
    ...(sent.key === undefined ? {} : { authorization: `Bearer ${sent.key}` }),
    ...sent.headers,
  };
  const asIs = typeof sent.body === 'string' || Buffer.isBuffer(sent.body);
  if (sent.body !== undefined) headers['content-type'] ??= 'application/json';
  const answer = await app.inject({
    method: method as 'GET',
    url: path,
    headers,
    ...(sent.body === undefined
      ? {}
      : { payload: asIs ? (sent.body as string | Buffer) : JSON.stringify(sent.body) }),
  });
  assert.notEqual(answer.statusCode, 500, `${method} ${path} answered 500`);
  assert.deepEqual(faultsOf(), []);
  const isJson = /[/+]json\b/.test(String(answer.headers['content-type'])) && answer.body !== '';
  const body: unknown = isJson
    ? JSON.parse(answer.body)
    : answer.body === ''
      ? undefined
      : answer.body;
  planted.see(asIs ? undefined : sent.body, body, [answer.headers['set-cookie'] ?? []].flat());
  recorded.see(method, path, { status: answer.statusCode, headers: answer.headers }, headers);
  return {
    status: answer.statusCode,
    headers: answer.headers as Answer['headers'],
    body,
    text: answer.body,
  };
}
