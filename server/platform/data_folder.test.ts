import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../test/eventually.ts';
import { FolderInUseError, findFolderHolder, lockDataFolder } from './data_folder.ts';
import { findProcess } from './embedded/programs.ts';

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
