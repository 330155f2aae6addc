import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { main } from '../../test/processes/server_process.ts';
import { leastEnvironment } from '../../test/processes/sluice_process.ts';

/** The exit code of a command, and what it says on standard error. */
async function ended(words: string[]): Promise<[number | null, string]> {
  const child = spawn(process.execPath, [main, ...words], {
    env: { ...leastEnvironment(), SLUICE_BACKUP_PASSPHRASE: 'one that only tests have' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return [code, err];
}

test('a value that an option does not take is wrong usage, as an unknown option is', async () => {
  const wrong = {
    'backup nowhere --what': /unknown option/,
    'backup nowhere --keep 0': /^--keep takes a whole number from 1 on\.\n$/,
    'migrate --status --accept-store postgres': /cannot be used with option '--status'/,
    'restore nowhere --lost mysql': /^--lost is postgres or clickhouse\.\n$/,
    'key create --expires-in-days none': /^--expires-in-days must be/,
  };
  const found = Object.entries(wrong).map(async ([words, told]) => {
    const [code, err] = await ended(words.split(' '));
    assert.match(err, told, words);
    assert.equal(code, 2, words);
  });
  await Promise.all(found);
  const [code, err] = await ended(['restore', 'nowhere']);
  assert.match(err, /There is no whole backup/);
  assert.equal(code, 1, 'what was asked rightly and cannot be done');
});
