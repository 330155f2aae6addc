import { execFile } from 'node:child_process';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, searchPath } from '../programs.ts';
import { StartFailure } from '../supervise.ts';

const run = promisify(execFile);
const environment = { PATH: searchPath, LC_ALL: 'C' };

/**
 * Returns the command prefix that lets a PostgreSQL program run although we are root, which it
 * refuses: a namespace in which we are an ordinary user. Empty for an ordinary user. Rejects with a
 * sentence if the system does not allow it.
 */
export async function asOrdinaryUser(): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  try {
    return await inNamespace();
  } catch (error) {
    throw new StartFailure(
      'PostgreSQL does not run as root, and this system allows no user namespace to run it ' +
        'in. Start as an ordinary user, or set SLUICE_DATABASE_URL to a PostgreSQL server.',
      { cause: error },
    );
  }
}

/**
 * Returns the command prefix for `initdb` and the single-user mode, which refuse a user id without
 * a name: containers often have one. Either a namespace provides the id of a user with a name, or
 * libnss_wrapper provides a name for ours, from a file in `scratch`. Empty if we have a name. If
 * the system has neither, rejects with a sentence that names the action.
 */
export async function asNamedUser(scratch: string, library = findWrapper): Promise<string[]> {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid === undefined || uid === 0 || (await hasName(uid))) return [];
  const wrapper = await library();
  if (wrapper !== undefined) {
    const [passwd, group] = [join(scratch, 'passwd'), join(scratch, 'group')];
    await writeFile(passwd, `sluice:x:${uid}:${gid}:Sluice:/:/bin/false\n`);
    await writeFile(group, `sluice:x:${gid}:\n`);
    const names = [`NSS_WRAPPER_PASSWD=${passwd}`, `NSS_WRAPPER_GROUP=${group}`];
    return [findProgram('env') ?? 'env', `LD_PRELOAD=${wrapper}`, ...names];
  }
  try {
    return await inNamespace();
  } catch (error) {
    throw new StartFailure(
      `The user id ${uid} has no entry in /etc/passwd, and PostgreSQL creates no data folder for ` +
        'a user without a name. Start as a user with an entry (in Docker: --user node), install ' +
        'libnss-wrapper, or set SLUICE_DATABASE_URL to a PostgreSQL server.',
      { cause: error },
    );
  }
}

async function inNamespace(): Promise<string[]> {
  const unshare = findProgram('unshare');
  if (!unshare) throw new Error('unshare is not installed');
  const id = (await namedIds()).find((known) => known > 0) ?? 1000;
  const words = ['--user', `--map-user=${id}`, `--map-group=${id}`];
  await run(unshare, [...words, 'true'], { env: environment });
  return [unshare, ...words];
}

// `getent` also knows the names of a directory; without it, the file is read.
async function hasName(uid: number): Promise<boolean> {
  const getent = findProgram('getent');
  if (getent === undefined) {
    const ids = await namedIds();
    return ids.length === 0 || ids.includes(uid);
  }
  const asked = run(getent, ['passwd', String(uid)], { env: environment });
  return await asked.then(
    () => true,
    // 2: there is no such entry. Another error says nothing about it.
    (error: unknown) => (error as { code?: unknown }).code !== 2,
  );
}

async function namedIds(): Promise<number[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const id = line.split(':')[2];
    return id !== undefined && /^\d+$/.test(id) ? [Number(id)] : [];
  });
}

/** Returns the library's path, in the folders of Debian and Red Hat; undefined if it is missing. */
async function findWrapper(): Promise<string | undefined> {
  for (const folder of ['/usr/lib', '/usr/lib64', '/lib64'])
    for (const inner of ['', ...(await readdir(folder).catch(() => []))]) {
      const path = join(folder, inner);
      if (inner !== '' && !inner.endsWith('-linux-gnu')) continue;
      const names = await readdir(path).catch(() => []);
      const name = names.find((one) => /^libnss_wrapper\.so(\.0)?$/.test(one));
      if (name !== undefined) return join(path, name);
    }
  return undefined;
}
