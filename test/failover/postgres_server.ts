import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  globSync,
  openSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresEnvironment } from '../../server/platform/embedded/postgres/folder.ts';
import { asOrdinaryUser } from '../../server/platform/embedded/postgres/ordinary_user.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { until } from '../processes/server_process.ts';

const run = promisify(execFile);

/** The user and the database of the servers, and the password of the user. */
export const user = 'sluice';
const password = 'only-of-this-campaign';

/**
 * The folder of PostgreSQL's own programs (Debian's, the newest), because the embedded one lacks
 * the programs that create a standby.
 */
export function findPostgresPrograms(): string | undefined {
  return globSync('/usr/lib/postgresql/*/bin')
    .filter((folder) =>
      ['initdb', 'postgres', 'pg_basebackup'].every((name) => existsSync(join(folder, name))),
    )
    .toSorted((one, other) => versionOf(other) - versionOf(one))[0];
}

const versionOf = (folder: string) => Number(folder.split('/').at(-2));

/** A PostgreSQL server on its own port, which may be a primary, a standby, or down. */
export type PostgresServer = {
  name: string;
  address: string;
  url(database: string): string;
  /** Creates a cluster with the database, and starts it. */
  create(): Promise<void>;
  /** Creates a standby of another one, from a copy, and starts it. */
  follow(primary: PostgresServer): Promise<void>;
  /** Starts it on its existing data. */
  start(): Promise<void>;
  /** Ends its recovery; returns once it accepts writes. */
  promote(): Promise<void>;
  /** Sends a signal to the server and all of its processes, at once. */
  signal(signal: NodeJS.Signals): void;
  /** Kills all of its processes with -9; harmless if it is down. */
  kill(): Promise<void>;
  /** Runs a statement without waiting for a standby. */
  ask<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
};

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  synchronous_standby_names: '*',
  synchronous_commit: 'on',
  wal_level: 'replica',
  max_wal_senders: '10',
  wal_keep_size: '128MB',
  max_connections: '200',
  shared_buffers: '64MB',
  wal_retrieve_retry_interval: '500ms',
  timezone: 'UTC',
};

/** Returns a server that does not exist yet, below `folder`. */
export async function openPostgresServer(
  name: string,
  folder: string,
  programs: string,
): Promise<PostgresServer> {
  const data = join(folder, name);
  const port = await findFreePort();
  const words = await asOrdinaryUser();
  const url = (database: string) => `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
  const ask: PostgresServer['ask'] = (text) => askAlone(url('postgres'), text);
  const program = async (wanted: string, flags: string[]) => {
    const [first = '', ...rest] = [...words, join(programs, wanted), '-D', data, ...flags];
    await run(first, rest, { env: postgresEnvironment });
  };
  const postmaster = openPostmaster(data, port, [...words, join(programs, 'postgres')]);
  const start = async () => {
    postmaster.spawn();
    await until(`PostgreSQL ${name} to answer`, 120_000, 50, async () =>
      ask('SELECT 1').catch(() => undefined),
    );
  };
  return {
    name,
    address: `127.0.0.1:${port}`,
    url,
    ask,
    start,
    signal: postmaster.signal,
    kill: postmaster.kill,
    create: async () => {
      const secret = `${data}.password`;
      writeFileSync(secret, password, { mode: 0o600 });
      const how = ['-U', user, `--pwfile=${secret}`, '--auth=scram-sha-256', '--encoding=UTF8'];
      await program('initdb', [...how, '--locale=C', '-N']);
      await start();
      await ask(`CREATE DATABASE ${user}`);
    },
    follow: async (primary) => {
      await postmaster.kill();
      await rm(data, { recursive: true, force: true });
      const from = `${primary.url('postgres')}?application_name=${name}`;
      await program('pg_basebackup', ['-d', from, '-X', 'stream', '-c', 'fast', '-R', '-N']);
      await start();
      await until(`${name} to follow ${primary.name}`, 60_000, 50, async () => {
        const rows = await primary.ask(`SELECT 1 FROM pg_stat_replication
          WHERE application_name = '${name}' AND sync_state = 'sync'`);
        return rows.length > 0 ? true : undefined;
      });
    },
    promote: async () => {
      await ask('SELECT pg_promote(true, 60)');
    },
  };
}

async function askAlone<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c synchronous_commit=local',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Returns the processes of a server on its data folder. */
function openPostmaster(data: string, port: number, words: string[]) {
  let child: ChildProcess | undefined;
  const signal = (wanted: NodeJS.Signals) => {
    for (const pid of familyOf(child?.pid)) {
      try {
        process.kill(pid, wanted);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  return {
    signal,
    spawn: () => {
      const output = openSync(`${data}.log`, 'a');
      const flags = Object.entries({ ...settings, port: String(port) }).flatMap(([key, value]) => [
        '-c',
        `${key}=${value}`,
      ]);
      const [first = '', ...rest] = [...words, '-D', data, ...flags];
      const stdio = ['ignore', output, output] as const;
      child = spawn(first, rest, { env: postgresEnvironment, stdio: [...stdio], detached: true });
      closeSync(output);
    },
    kill: async () => {
      const ended = child;
      signal('SIGKILL');
      if (ended?.exitCode === null && ended.signalCode === null) await once(ended, 'exit');
      child = undefined;
    },
  };
}

/** Returns a process and its children. */
function familyOf(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'utf8');
        return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === pid;
      } catch {
        return false;
      }
    })
    .map(Number);
  return [pid, ...children];
}
