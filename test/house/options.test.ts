import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOptions } from '../../scripts/options.ts';
import { root } from './source_files.ts';

test('options have the type of their default, which holds where they are not given', () => {
  const defaults = { kills: 50, mode: 'alone', cluster: false };
  assert.deepEqual(readOptions(defaults, []), defaults);
  assert.deepEqual(readOptions(defaults, ['--kills', '7', '--mode=', '--cluster']), {
    kills: 7,
    mode: '',
    cluster: true,
  });
});

test('an unknown option, or a value that does not fit, ends the command with what fits', () => {
  const module = join(root, 'scripts/options.ts');
  const code =
    `import { readOptions } from ${JSON.stringify(module)};` +
    "readOptions({ kills: 50, only: '', cluster: false }, process.argv.slice(1));";
  for (const [given, named] of [
    [['--kill', '7'], /--kill/],
    [['--kills', 'many'], /whole number, not 'many'/],
    [['7'], /'7'/],
  ] as const) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', code, '--', ...given],
      { encoding: 'utf8' },
    );
    assert.deepEqual([status, stdout], [2, ''], stderr);
    assert.match(stderr.split('\n')[0]!, named);
    assert.match(stderr, /\n {2}--kills 50\n {2}--only <text>\n {2}--cluster\n$/);
  }
});
