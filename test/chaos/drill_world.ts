import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { call, serverEnvironment, startServer } from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';
import { socketOf } from '../servers/databases/embedded_postgres.ts';
import { openPostgresProxy } from '../servers/databases/postgres_proxy.ts';
import type { Places } from './delivered.ts';
import { configsOf } from './deployment.ts';
import { startS3 } from './kept_process.ts';

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

/** A server on its embedded stores, and two destinations beside its files. */
export type DrillWorld = Places & {
  folder: string;
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: Record<string, unknown> }>;
  /** A bucket for backups. */
  bucket: string;
  start(): Promise<void>;
  /** Kills it with -9, together with its stores. */
  kill(): Promise<void>;
  /** Starts a command beside the server. */
  command(...words: string[]): Command;
  /** The stores of the running server. */
  stores(): ReturnType<typeof openServerStores>;
  close(): Promise<void>;
};

/** A command in progress. */
export type Command = { child: ChildProcess; ended: Promise<{ code: number | null; out: string }> };

/** Opens the world in a folder; the server is not started yet. */
export async function openDrillWorld(folder: string): Promise<DrillWorld> {
  const destination = await openEmbeddedPostgres({
    folder: join(folder, 'destination'),
    log: silentLog(),
  });
  const door = await openPostgresProxy(socketOf(destination.url), { tls: true });
  const [s3_port, api_port] = [await findFreePort(), await findFreePort()];
  const s3 = await startS3(join(folder, 's3'), s3_port);
  const warehouse = openDatabase(destination.url, {
    connections_max: 2,
    application_name: 'campaign',
  });
  const key = createApiKey();
  const environment = {
    ...serverEnvironment(folder, key, { SLUICE_PORT: String(api_port) }),
    SLUICE_BACKUP_PASSPHRASE: 'one that only this campaign has',
    AWS_ACCESS_KEY_ID: 'campaign',
    AWS_SECRET_ACCESS_KEY: 'campaign',
  };
  let server: ServerProcess | undefined;
  return {
    folder,
    export_dir: join(folder, 'exports'),
    warehouse,
    bucket: `s3://campaign/backups?endpoint=http://127.0.0.1:${s3_port}`,
    ...configsOf(destination.url, { s3_port, postgres_port: door.port }),
    call: (method, path, body) => call(`http://127.0.0.1:${api_port}`, key, method, path, body),
    start: async () => {
      server = await startServer(['start'], environment);
    },
    kill: async () => server?.kill(),
    command: (...words) => startCommand(words, environment),
    stores: () => openServerStores(folder),
    close: async () => {
      await server?.stop();
      s3.kill('SIGKILL');
      await warehouse.close();
      await door.close();
      await destination.stop();
    },
  };
}

function startCommand(words: string[], environment: Record<string, string>): Command {
  const child = spawn(process.execPath, [main, ...words], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.resume();
  const ended = Promise.all([text(child.stdout), once(child, 'exit')]).then(([out, [code]]) => ({
    code: code as number | null,
    out,
  }));
  return { child, ended };
}

function openServerStores(folder: string) {
  const { database_url, clickhouse_url } = JSON.parse(
    readFileSync(join(folder, 'data/running.json'), 'utf8'),
  ) as { database_url: string; clickhouse_url: string };
  const db = openDatabase(database_url, { connections_max: 2, application_name: 'campaign' });
  const clickhouse = openClickHouse(clickhouse_url, { application: 'campaign' });
  return {
    db,
    clickhouse,
    /**
     * Ends the current interval of every export now, instead of after five minutes. Its run is due
     * as soon as the settle time is over.
     */
    turn: () =>
      db.run(sql`UPDATE batch_exports SET next_run_at = date_trunc('milliseconds', now())
        WHERE NOT paused AND next_run_at > now()
          AND planned_until < date_trunc('milliseconds', now())`),
    close: async () => {
      await clickhouse.close();
      await db.close();
    },
  };
}
