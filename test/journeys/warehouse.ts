import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import {
  databaseName,
  findPostgresPrograms,
  postgresEnvironment,
  prepareCluster,
} from '../../server/platform/embedded/postgres/folder.ts';
import { asOrdinaryUser } from '../../server/platform/embedded/postgres/ordinary_user.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { until } from '../processes/server_process.ts';

/** A PostgreSQL of the person: a server process over TCP, which they stop and break. */
export type Warehouse = {
  port: number;
  database: string;
  /** The user of the export, and their initial password. */
  user: string;
  password: string;
  /** Runs a statement as the administrator. */
  ask<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
  start(): Promise<void>;
  /** Stops it fast, as `pg_ctl stop` does. */
  close(): Promise<void>;
};

/** A small file system with a tablespace; `fill` uses its last byte, `empty` frees it. */
export type SmallDisk = { path: string; fill(): void; empty(): void; close(): void };

const mebibyte = 2 ** 20;

/** Starts a server below the folder, with a user who may create tables in its database. */
export async function openWarehouse(folder: string): Promise<Warehouse> {
  const data = join(folder, 'warehouse');
  const [programs, words] = await Promise.all([findPostgresPrograms(), asOrdinaryUser()]);
  const secret = await prepareCluster(data, programs, words);
  const port = await findFreePort();
  let child: ChildProcess | undefined;
  const ask = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> => {
    const client = new pg.Client({
      connectionString: `postgres://${databaseName}:${secret}@127.0.0.1:${port}/${databaseName}`,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const start = async () => {
    const line = [...words, programs.postgres, '-D', data];
    const flags = ['-h', '127.0.0.1', '-p', String(port), '-k', '', '-F'];
    const output = openSync(`${data}.log`, 'a');
    child = spawn(line[0]!, [...line.slice(1), ...flags], {
      env: postgresEnvironment,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    await until('the warehouse', 60_000, 50, () => ask('SELECT 1').catch(() => undefined));
  };
  const close = async () => {
    const ended = child;
    child = undefined;
    if (ended === undefined) return;
    ended.kill('SIGINT');
    if (ended.exitCode === null && ended.signalCode === null) await once(ended, 'exit');
  };
  await start();
  await ask(`CREATE ROLE etl LOGIN PASSWORD 'first-password'`);
  await ask(`GRANT ALL ON DATABASE ${databaseName} TO etl; GRANT ALL ON SCHEMA public TO etl`);
  return {
    port,
    database: databaseName,
    user: 'etl',
    password: 'first-password',
    ask,
    start,
    close,
  };
}

/** Mounts a file system with this many MiB (needs root). */
export function openSmallDisk(folder: string, mebibytes: number): SmallDisk {
  const path = join(folder, 'small_disk');
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0777`, 'tmpfs', path]);
  const tablespace = join(path, 'tablespace');
  mkdirSync(tablespace, { mode: 0o700 });
  const ballast = join(path, 'ballast');
  return {
    path: tablespace,
    fill: () => {
      const file = openSync(ballast, 'a');
      try {
        for (let bytes = mebibyte; bytes >= 1024; bytes = free(path) === 0 ? 0 : bytes)
          writeSync(file, Buffer.alloc(bytes));
      } catch {
        // The last byte is taken.
      }
      closeSync(file);
    },
    empty: () => rmSync(ballast, { force: true }),
    close: () => void execFileSync('umount', ['--lazy', path]),
  };
}

function free(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
