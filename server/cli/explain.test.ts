import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openSluice } from '../../test/processes/sluice_process.ts';

const sluice = openSluice();
after(() => sluice.close());

test('a value that an option does not take is wrong usage, as an unknown option is', async () => {
  const environment = { SLUICE_BACKUP_PASSPHRASE: 'one that only tests have' };
  const wrong = {
    'backup nowhere --what': /unknown option/,
    'backup nowhere --keep 0': /^--keep takes a whole number from 1 on\.\n$/,
    'migrate --status --accept-store postgres': /cannot be used with option '--status'/,
    'restore nowhere --lost mysql': /^--lost is postgres or clickhouse\.\n$/,
    'key create --expires-in-days none': /^--expires-in-days must be/,
  };
  for (const [words, told] of Object.entries(wrong)) {
    const { code, err } = await sluice.run(words.split(' '), environment);
    assert.match(err, told, words);
    assert.equal(code, 2, words);
  }
  const { code, err } = await sluice.run(['restore', 'nowhere'], environment);
  assert.match(err, /There is no complete backup/);
  assert.equal(code, 1, 'what was asked rightly and cannot be done');
});
