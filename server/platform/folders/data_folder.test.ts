import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../test/eventually.ts';
import { FolderInUseError, findFolderHolder, lockDataFolder } from './data_folder.ts';
import { findProcess } from '../embedded/programs.ts';

const lockModule = fileURLToPath(new URL('data_folder.ts', import.meta.url));

/**
 * A process that holds the folder, below a parent that never asks for its end: killed, it stays as
 * a zombie.
 */
async function holdUnreaped(folder: string) {
  const script =
    `import('${lockModule}').then((lock) => { lock.lockDataFolder('${folder}'); ` +
    'console.log(process.pid); setInterval(() => {}, 1000); })';
  const parent = spawn(
    '/bin/sh',
    ['-c', '"$0" -e "$1" & exec sleep 60', process.execPath, script],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const holder = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))),
  );
  return { holder, end: () => parent.kill('SIGKILL') };
}

test('a holder that was killed and not yet reaped is dead: the next takes the folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  const { holder, end } = await holdUnreaped(folder);
  try {
    assert.equal(findFolderHolder(folder), holder);
    assert.throws(() => lockDataFolder(folder), FolderInUseError);
    process.kill(holder, 'SIGKILL');
    await eventually('still alive', async () => (await findProcess(holder)) === undefined);
    // It has its id still: to this question a zombie answers as a living process does.
    process.kill(holder, 0);
    assert.equal(findFolderHolder(folder), undefined);
    const unlock = lockDataFolder(folder);
    assert.equal(findFolderHolder(folder), process.pid);
    unlock();
  } finally {
    end();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a full disk that keeps a lock or a key from being written leaves no file behind', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  const script =
    `import('${lockModule}').then((module) => { for (const take of [module.lockDataFolder, ` +
    'module.keptSecretKey]) try { take(process.argv[1]); } catch (error) { ' +
    'console.log(error.code); } })';
  // No file of the process may have a byte, as on a full disk.
  const bounded = `trap '' XFSZ; ulimit -f 0; exec "$0" -e "$1" "$2"`;
  try {
    const { stdout } = spawnSync('/bin/sh', ['-c', bounded, process.execPath, script, folder]);
    assert.equal(String(stdout), 'EFBIG\nEFBIG\n');
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a file in the place of the folder, or above it, is named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  try {
    for (const path of [file, join(file, 'data')])
      assert.throws(() => lockDataFolder(path), {
        name: 'FolderUnusableError',
        message: new RegExp(`: ${file} is not a folder\\. Name another one`),
      });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a lock that a power failure has damaged is free', () => {
  // In a process of its own: a loop that never ends would hold this one for ever.
  const script =
    `import('${lockModule}').then(({ lockDataFolder }) => { const [, folder, ...texts] = ` +
    "process.argv; for (const text of texts) { fs.writeFileSync(folder + '/server.lock', text); " +
    "lockDataFolder(folder)(); console.log(text || 'empty'); } })";
  const folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  try {
    const texts = ['', 'null', '{"pid":1e99,"started":""}', '{ "pid": -1 }'];
    const options = { encoding: 'utf8', timeout: 10_000 } as const;
    const { stdout } = spawnSync(process.execPath, ['-e', script, folder, ...texts], options);
    assert.deepEqual(stdout.trim().split('\n'), ['empty', ...texts.slice(1)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
