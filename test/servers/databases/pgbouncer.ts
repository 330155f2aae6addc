import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { findFreePort } from '../../../server/platform/embedded/free_port.ts';
import { accessTo, socketOf } from './embedded_postgres.ts';
import { openPostgresProxy } from './postgres_proxy.ts';

/** A separate PgBouncer in front of an embedded PostgreSQL. */
export type PgBouncer = { port: number; url: string; close(): Promise<void> };

const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => existsSync(path));

/** The reason why these tests cannot run here, or undefined if they can. */
export const pgBouncerMissing =
  program === undefined
    ? 'PgBouncer is not installed; on Debian: apt-get install pgbouncer'
    : undefined;

/** Starts one on 127.0.0.1 with a usual configuration, and two sessions of the server. */
export async function openPgBouncer(
  database_url: string,
  pool_mode: 'session' | 'transaction' | 'statement',
): Promise<PgBouncer> {
  const proxy = await openPostgresProxy(socketOf(database_url), { tls: false });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'));
  const port = await findFreePort();
  const { user, password, database } = accessTo(database_url, port);
  const users = join(folder, 'users.txt');
  await writeFile(users, `"${user}" "${password}"\n`);
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${proxy.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${users}`,
    `pool_mode = ${pool_mode}`,
    'default_pool_size = 20',
    'ignore_startup_parameters = options,extra_float_digits',
    // It refuses to run as root.
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
  ];
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `${settings.join('\n')}\n`);
  await chmod(folder, 0o755);
  const child = spawn(program!, ['--quiet', file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  };
  for (let waited = 0; !(await isOpen(port)); waited += 20) {
    if (child.exitCode === null && waited < 30_000) await pause(20);
    else {
      await close();
      throw new Error('PgBouncer did not start.');
    }
  }
  return { port, url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`, close };
}

function isOpen(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.on('error', () => resolve(false));
    socket.on('connect', () => resolve(true));
  }).then((open) => {
    socket.destroy();
    return open as boolean;
  });
}
