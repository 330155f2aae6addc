import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';

/** Runs code in a process whose folder for temporary files is this one. */
function runIn(folder: string, code: string) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...leastEnvironment(), TMPDIR: folder },
  });
  return { child, said: text(child.stdout) };
}

const imported = `import { newScratchFolder, removeDeadFolders } from
  ${JSON.stringify(join(import.meta.dirname, 'scratch_folders.ts'))};`;

test('the folder of a killed process goes at the next start, and others stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  try {
    const killed = runIn(
      folder,
      `${imported} console.log(await newScratchFolder('merge'));
        process.kill(process.pid, 'SIGKILL');`,
    );
    const left = (await killed.said).trim();
    assert.ok(existsSync(left), left);
    const living = runIn(
      folder,
      `${imported} console.log(await newScratchFolder('merge'));
        setInterval(() => {}, 1000);`,
    );
    const [first] = await once(living.child.stdout, 'data');
    const kept = String(first).trim();
    const next = runIn(folder, `${imported} console.log(await removeDeadFolders());`);
    assert.equal((await next.said).trim(), '1');
    assert.deepEqual([existsSync(left), existsSync(kept)], [false, true]);
    living.child.kill('SIGKILL');
    await living.said;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
