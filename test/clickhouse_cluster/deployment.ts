import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { keepRunning } from '../chaos/kept_process.ts';
import type { Kept } from '../chaos/kept_process.ts';
import type { Operated } from '../chaos/operations.ts';
import { call, serverEnvironment, startServer, until } from '../processes/server_process.ts';
import { openStandIn } from './cluster.ts';
import type { StandIn } from './cluster.ts';
import type { ClusterSettings } from './settings.ts';

/** The processes of the server. */
export const processes = ['api', 'worker 1', 'worker 2'] as const;

/** One of `processes`. */
export type Process = (typeof processes)[number];

/** A server of an API and two workers on a cluster. */
export type ClusterDeployment = Operated & {
  db: Database;
  cluster: StandIn;
  export_dir: string;
  /** The environment of its processes, for commands. */
  environment: Record<string, string>;
  isUp(victim: Process): boolean;
  /** Kills the process with -9; it restarts on its own. False while it is down. */
  kill(victim: Process): boolean;
  close(): Promise<void>;
};

const up_ms_max = 120_000;

/** Starts everything in a folder; if a part does not start, it ends the others. */
export async function openClusterDeployment(
  settings: Pick<ClusterSettings, 'folder'> & Partial<ClusterSettings>,
): Promise<ClusterDeployment> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of closing.toReversed()) await step();
  };
  try {
    return { ...(await openParts(settings, closing)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openParts(
  settings: Pick<ClusterSettings, 'folder'> & Partial<ClusterSettings>,
  closing: (() => Promise<unknown>)[],
): Promise<Omit<ClusterDeployment, 'close'>> {
  const { folder } = settings;
  const postgres = await openEmbeddedPostgres({
    folder: join(folder, 'postgres'),
    log: silentLog(),
  });
  closing.push(() => postgres.stop());
  const cluster = await openStandIn({ ...settings, folder: join(folder, 'cluster') });
  closing.push(() => cluster.close());
  const db = openDatabase(postgres.url, { connections_max: 4, application_name: 'campaign' });
  closing.push(() => db.close());
  const [key, port] = [createApiKey(), await findFreePort()];
  const environment = serverEnvironment(folder, key, {
    SLUICE_DATABASE_URL: postgres.url,
    SLUICE_CLICKHOUSE_URL: cluster.urls,
    SLUICE_SECRET_KEY: 'a secret that only this campaign has',
    SLUICE_PAUSE_AFTER_FAILURES: '0',
    SLUICE_PORT: String(port),
    ...(settings.mode === 'on_cluster'
      ? { SLUICE_CLICKHOUSE_CLUSTER: cluster.cluster.settings.cluster }
      : {}),
  });
  const kept = {} as Record<Process, Kept>;
  const start = async (name: Process) => {
    const command = name === 'api' ? 'api' : 'worker';
    kept[name] = await keepRunning(async () => (await startServer([command], environment)).child);
    closing.push(() => kept[name].stop());
  };
  // The first one creates the tables.
  await start('api');
  await Promise.all([start('worker 1'), start('worker 2')]);
  const ask: Operated['call'] = (method, path, body) =>
    call(`http://127.0.0.1:${port}`, key, method, path, body);
  return {
    db,
    cluster,
    environment,
    export_dir: join(folder, 'exports'),
    call: ask,
    isUp: (victim) => kept[victim].pid() !== undefined,
    kill: (victim) => {
      const pid = kept[victim].pid();
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      return pid !== undefined;
    },
    up: async () => {
      await until('the server to be ready', up_ms_max, 100, async () => {
        if (processes.some((name) => kept[name].pid() === undefined)) return undefined;
        const answer = await ask('GET', '/readyz').catch(() => undefined);
        return answer?.status === 200 ? true : undefined;
      });
    },
  };
}
