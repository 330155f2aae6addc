import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { main } from '../../../test/processes/server_process.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';

async function ended(stdout: 'pipe' | number): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [main, 'help'], {
    env: leastEnvironment(),
    stdio: ['ignore', stdout, 'pipe'],
  });
  child.stdout?.destroy();
  let err = '';
  child.stderr!.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, err };
}

test('a pipe without a reader ends no command with a stack', async () => {
  assert.deepEqual(await ended('pipe'), { code: 0, err: '' });
});

test(
  'output that cannot be written is reported, with exit code 1',
  { skip: !existsSync('/dev/full') },
  async () => {
    const { code, err } = await ended(openSync('/dev/full', 'w'));
    assert.deepEqual([code, err], [1, 'Standard output could not be written: ENOSPC.\n']);
  },
);
