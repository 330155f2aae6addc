import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import type { Connection } from 'mysql2/promise';
import { findFreePort } from '../../../server/platform/embedded/free_port.ts';

/** A MariaDB of one test file, as an ordinary process on a loopback port with TLS. */
export type MariaDbServer = {
  port: number;
  user: string;
  password: string;
  /** A session of the administrator; a new one after `kill`. */
  admin(): Promise<Connection>;
  /** Ends it like a kill -9 and restarts it on the same port and folder. */
  kill(): Promise<void>;
  close(): Promise<void>;
};

const certificate = (name: string) =>
  fileURLToPath(new URL(`../../certificates/localhost.${name}`, import.meta.url));

function findProgram(...names: string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

/**
 * The program of the server, the one that creates its folder, and the one that prints its options.
 */
const programs = ['mariadbd', 'mariadb-install-db', 'my_print_defaults'];

/** The reason why these tests cannot run here, or undefined if they can. */
export const mariaDbMissing = programs.every((program) => findProgram(program) !== undefined)
  ? undefined
  : 'MariaDB is not installed; on Debian: apt-get install mariadb-server';

/** Starts one in a temporary folder. */
export async function openMariaDb(): Promise<MariaDbServer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mariadb-'));
  const data = join(folder, 'data');
  const port = await findFreePort();
  const account = userInfo().username;
  await promisify(execFile)(findProgram('mariadb-install-db')!, [
    '--no-defaults',
    `--datadir=${data}`,
    `--tmpdir=${folder}`,
    `--user=${account}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]);
  const start = () => startServer(folder, data, port, account);
  let child = await start();
  const admin = () =>
    mysql.createConnection({
      socketPath: join(folder, 'socket'),
      user: 'root',
      charset: 'utf8mb4',
      timezone: 'Z',
    });
  const password = 'pass\'word\\"';
  const session = await admin();
  await session.query('CREATE USER sluice@localhost IDENTIFIED BY ?', [password]);
  await session.query('GRANT ALL ON *.* TO sluice@localhost');
  await session.end();
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  return {
    port,
    user: 'sluice',
    password,
    admin,
    kill: async () => {
      await end('SIGKILL');
      child = await start();
    },
    close: async () => {
      await end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startServer(folder: string, data: string, port: number, account: string) {
  const socket = join(folder, 'socket');
  const settings = [
    '--bind-address=127.0.0.1',
    '--skip-log-bin',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=64M',
    '--max-allowed-packet=16M',
  ];
  const tls = [`--ssl-cert=${certificate('crt')}`, `--ssl-key=${certificate('key')}`];
  const child = spawn(
    findProgram('mariadbd')!,
    [
      '--no-defaults',
      `--datadir=${data}`,
      // A starting server removes the temporary tables of all servers on the same folder.
      `--tmpdir=${folder}`,
      `--user=${account}`,
      `--socket=${socket}`,
      `--port=${port}`,
      `--pid-file=${folder}/pid`,
      ...settings,
      ...tls,
    ],
    { stdio: 'ignore' },
  );
  for (let waited = 0; ; waited += 20) {
    const isOpen = await mysql.createConnection({ host: '127.0.0.1', port, user: 'nobody' }).then(
      () => true,
      (error: { code?: string }) => error.code?.startsWith('ER_') === true,
    );
    if (isOpen) return child;
    if (child.exitCode !== null || waited > 30_000) throw new Error('MariaDB did not start.');
    await pause(20);
  }
}
