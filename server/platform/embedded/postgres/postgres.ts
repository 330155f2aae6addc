import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../../log.ts';
import { keepShort, openLogFile } from '../log_file.ts';
import type { LogFile } from '../log_file.ts';
import {
  complaintIn,
  databaseName,
  findPostgresPrograms,
  postgresEnvironment,
  prepareCluster,
  prepareSocketFolder,
  takeOver,
} from './folder.ts';
import { asOrdinaryUser } from './ordinary_user.ts';
import { dieWithParent } from '../programs.ts';
import { supervise } from '../supervise.ts';
import type { EmbeddedStore } from '../supervise.ts';

const settings = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '128MB',
  // Nothing subscribes here: one process less.
  max_logical_replication_workers: '0',
  // The data is on a local disk and mostly in memory: with the default of 4, the planner reads
  // whole tables instead of an index.
  random_page_cost: '1.1',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  logging_collector: 'off',
};

/**
 * Opens our own PostgreSQL 18 server on `folder`, created on first use, reachable only through a
 * Unix socket, which ends with this process. Its `url` works as a connection string of `pg` and
 * names the database `sluice`. An acknowledged commit survives a kill of the server; a crashed
 * server restarts on the same URL. Rejects with a sentence if the folder is in use or the system
 * does not allow it. `spawned` is called when its process runs and does not answer yet.
 */
export async function openEmbeddedPostgres(options: {
  folder: string;
  log: Logger;
  spawned?: () => void;
}): Promise<EmbeddedStore> {
  const folder = resolve(options.folder);
  const [programs, words] = await Promise.all([findPostgresPrograms(), asOrdinaryUser()]);
  const password = await prepareCluster(folder, programs, words);
  const socketFolder = await prepareSocketFolder(folder);
  const url =
    `postgresql://${databaseName}:${password}@/${databaseName}` +
    `?host=${encodeURIComponent(socketFolder)}&port=5432`;

  let output: LogFile | undefined;
  const start = async (): Promise<ChildProcess> => {
    await takeOver(folder, socketFolder);
    const [program = '', ...rest] = [
      ...words,
      ...dieWithParent('INT'),
      programs.postgres,
      '-D',
      folder,
      ...flagsOf({ ...settings, unix_socket_directories: socketFolder }),
    ];
    output = openLogFile(join(folder, 'postgres.log'));
    try {
      // Detached in its own process group, so that Ctrl-C in a terminal only reaches us and the
      // stores end after their users.
      const child = spawn(program, rest, {
        env: postgresEnvironment,
        stdio: ['ignore', output.fd, output.fd],
        detached: true,
      });
      return keepShort(child, output);
    } finally {
      output.close();
    }
  };

  const supervisor = await supervise({
    name: 'PostgreSQL',
    log: options.log,
    spawn: start,
    spawned: options.spawned,
    ready: (_child, signal) => whenAnswering(url, signal),
    complaint: () => complaintIn(output?.read() ?? ''),
    askToStop: (child) => child.kill('SIGINT'),
    stop_seconds: 15,
    start_seconds: 300,
    start_seconds_max: 10,
  });
  return {
    url,
    get pid() {
      return supervisor.pid;
    },
    stop: supervisor.stop,
  };
}

function flagsOf(chosen: Record<string, string>): string[] {
  return Object.entries(chosen).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function whenAnswering(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      return;
    } catch (error) {
      // 28P01: the password file and the cluster do not match, which waiting does not fix.
      if ((error as { code?: string }).code === '28P01') throw error;
      await pause(10, undefined, { signal });
    } finally {
      await client.end().catch(() => {});
    }
  }
}
