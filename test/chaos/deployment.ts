import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { openStartLog } from './start_log.ts';
import type { StartLog } from './start_log.ts';
import { accessTo, socketOf } from '../servers/databases/embedded_postgres.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import { call, serverEnvironment, startServer } from '../processes/server_process.ts';
import { keepRunning, startS3 } from './kept_process.ts';
import type { Kept } from './kept_process.ts';

/** The processes that a campaign kills. */
export const victims = [
  'api',
  'worker 1',
  'worker 2',
  'PostgreSQL',
  'ClickHouse',
  'S3 store',
  'destination PostgreSQL',
] as const;

/** One of `victims`. */
export type Victim = (typeof victims)[number];

/** The parts around a server's processes: both stores and two destinations. */
export type Site = {
  export_dir: string;
  /** The environment of the server's processes, for its commands. */
  environment: Record<string, string>;
  db: Database;
  clickhouse: ClickHouse;
  /** The target database of an export. */
  warehouse: Database;
  /** Configs of the two destinations that are processes, without paths. */
  s3_config: {
    bucket_name: string;
    region: string;
    aws_access_key_id: string;
    aws_secret_access_key: string;
    endpoint_url: string;
  };
  postgres_config: {
    user: string;
    password: string;
    host: string;
    port: number;
    database: string;
    has_self_signed_cert: true;
  };
  /** A call to the API. Rejects while it is down. */
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
  /**
   * Resolves when everything is up. Rejects after four minutes, with the name of what is missing.
   */
  up(): Promise<void>;
};

/**
 * A deployment as operators run it: API, two workers, both stores and two destinations. Each is its
 * own process, which restarts when it ends.
 */
export type Deployment = Site & {
  /**
   * Kills the process with -9 and returns true, or false while it is down. It restarts on its own.
   */
  kill(victim: Victim): boolean;
  isUp(victim: Victim): boolean;
  /** By process, the longest time from a start until it was ready, in milliseconds. */
  slowestStarts(): Record<string, number>;
  close(): Promise<void>;
};

const up_ms_max = 240_000;

/** Starts the deployment in a folder. If a part does not start, the started ones are ended. */
export async function openDeployment(folder: string): Promise<Deployment> {
  const closing: (() => Promise<unknown>)[] = [];
  const keep = <Part>(part: Part, close: (part: Part) => Promise<unknown>): Part => {
    closing.push(() => close(part));
    return part;
  };
  const close = async () => {
    for (const step of closing.toReversed()) await step();
  };
  try {
    return { ...(await openParts(folder, keep)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Keeps the opened resources until `close` closes them. */
export type Keep = <Part>(part: Part, close: (part: Part) => Promise<unknown>) => Part;

/** Opens stores and destinations, and connections to them; everything but the server. */
export async function openSite(folder: string, keep: Keep, starts: StartLog, key: string) {
  const stores = await openStores(folder, keep, starts);
  const { postgres, clickhouse, destination } = stores;
  const door = keep(await openPostgresProxy(socketOf(destination.url), { tls: true }), (proxy) =>
    proxy.close(),
  );
  const s3_port = await findFreePort();
  const environment = serverEnvironment(folder, key, {
    SLUICE_DATABASE_URL: postgres.url,
    SLUICE_CLICKHOUSE_URL: clickhouse.url,
    SLUICE_SECRET_KEY: 'a secret that only this campaign has',
    // Runs fail here because processes are killed, and nobody would unpause the export.
    SLUICE_PAUSE_AFTER_FAILURES: '0',
  });
  const closeDatabase = (database: Database) => database.close();
  const site: Omit<Site, 'call' | 'up'> = {
    export_dir: join(folder, 'exports'),
    environment,
    db: keep(
      openDatabase(postgres.url, { connections_max: 4, application_name: 'campaign' }),
      closeDatabase,
    ),
    clickhouse: keep(openClickHouse(clickhouse.url, { application: 'campaign' }), (client) =>
      client.close(),
    ),
    warehouse: keep(
      openDatabase(destination.url, { connections_max: 2, application_name: 'campaign' }),
      closeDatabase,
    ),
    ...configsOf(destination.url, { s3_port, postgres_port: door.port }),
  };
  return { ...stores, site, startStore: () => startS3(join(folder, 's3'), s3_port) };
}

async function openParts(folder: string, keep: Keep): Promise<Omit<Deployment, 'close'>> {
  const starts = openStartLog(join(folder, 'starts.log'));
  const key = createApiKey();
  const { site, startStore, ...stores } = await openSite(folder, keep, starts, key);
  const api_port = await findFreePort();
  const environment = { ...site.environment, SLUICE_PORT: String(api_port) };
  const kept = await startKept(keep, starts, environment, startStore);
  const pidOf = (victim: Victim): number | undefined => {
    if (victim === 'PostgreSQL') return stores.postgres.pid;
    if (victim === 'ClickHouse') return stores.clickhouse.pid;
    return victim === 'destination PostgreSQL' ? stores.destination.pid : kept[victim].pid();
  };
  const ask: Deployment['call'] = (method, path, body) =>
    call(`http://127.0.0.1:${api_port}`, key, method, path, body);
  return {
    ...site,
    environment,
    call: ask,
    kill: (victim) => {
      const pid = pidOf(victim);
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      return pid !== undefined;
    },
    slowestStarts: starts.slowest,
    isUp: (victim) => pidOf(victim) !== undefined,
    up: () =>
      whenUp(
        () => [...victims.filter((victim) => pidOf(victim) === undefined), ...faultsOf(kept)],
        ask,
      ),
  };
}

/** Opens the stores of the server and the target database, each as a process. */
async function openStores(folder: string, keep: Keep, starts: StartLog) {
  const stop = (part: { stop(): Promise<void> }) => part.stop();
  const postgres = keep(
    await openEmbeddedPostgres({
      folder: join(folder, 'postgres'),
      log: starts.logOf('PostgreSQL'),
    }),
    stop,
  );
  const clickhouse = keep(
    await openEmbeddedClickHouse({
      folder: join(folder, 'clickhouse'),
      log: starts.logOf('ClickHouse'),
      memory_bytes_max: 1_500_000_000,
    }),
    stop,
  );
  const destination = keep(
    await openEmbeddedPostgres({
      folder: join(folder, 'destination'),
      log: starts.logOf('destination PostgreSQL'),
    }),
    stop,
  );
  return { postgres, clickhouse, destination };
}

/** The configs of destinations at these addresses. */
export function configsOf(
  destinationUrl: string,
  { s3_port, postgres_port }: { s3_port: number; postgres_port: number },
): Pick<Deployment, 's3_config' | 'postgres_config'> {
  return {
    s3_config: {
      bucket_name: 'campaign',
      region: 'eu-central-1',
      aws_access_key_id: 'campaign',
      aws_secret_access_key: 'campaign',
      endpoint_url: `http://127.0.0.1:${s3_port}`,
    },
    postgres_config: accessTo(destinationUrl, postgres_port),
  };
}

type KeptParts = Record<
  Exclude<Victim, 'PostgreSQL' | 'ClickHouse' | 'destination PostgreSQL'>,
  Kept
>;

async function startKept(
  keep: Keep,
  starts: StartLog,
  environment: Record<string, string>,
  startStore: () => Promise<ChildProcess>,
): Promise<KeptParts> {
  const kept = async (name: Victim, start: () => Promise<ChildProcess>) =>
    keep(await keepRunning(() => starts.timed(name, start)), (part) => part.stop());
  const server = (command: string) => async () => (await startServer([command], environment)).child;
  return {
    'S3 store': await kept('S3 store', startStore),
    api: await kept('api', server('api')),
    'worker 1': await kept('worker 1', server('worker')),
    'worker 2': await kept('worker 2', server('worker')),
  };
}

function faultsOf(kept: KeptParts): (string | undefined)[] {
  return Object.values(kept).flatMap((one) => (one.pid() === undefined ? [one.fault()] : []));
}

async function whenUp(
  listDown: () => (string | undefined)[],
  ask: Deployment['call'],
): Promise<void> {
  const deadline = performance.now() + up_ms_max;
  const readiness = () =>
    ask('GET', '/readyz').then(
      ({ status, body }) => (status === 200 ? undefined : JSON.stringify(body)),
      String,
    );
  for (;;) {
    const missing = [...listDown(), await readiness()].filter((part) => part !== undefined);
    if (missing.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`The deployment did not come up again: ${missing.join(', ')}.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
