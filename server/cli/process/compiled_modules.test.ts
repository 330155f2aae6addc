import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { release } from '../../platform/version.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

const program = `
  const { keepCompiledModules } = await import(process.argv[1]);
  keepCompiledModules(process.argv[2]);
  await import(process.argv[3]);`;

test('a start keeps what it compiled in a data folder that is there, of its version alone', () => {
  const data = join(folder, 'data');
  // Keeps compiled modules, in the place that the environment names if it names one.
  const keep = (environment: Record<string, string>) =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        program,
        new URL('compiled_modules.ts', import.meta.url).href,
        data,
        new URL('../../platform/folders/folders.ts', import.meta.url).href,
      ],
      { env: environment },
    );
  keep({});
  assert.deepEqual(readdirSync(folder), []);
  mkdirSync(join(data, 'compiled', '0.0.1'), { recursive: true });
  writeFileSync(join(data, 'compiled', '0.0.1', 'module'), '');
  keep({ NODE_COMPILE_CACHE: join(folder, 'elsewhere') });
  assert.deepEqual(readdirSync(join(data, 'compiled')), ['0.0.1']);
  keep({});
  assert.deepEqual(readdirSync(join(data, 'compiled')), [release]);
  assert.ok(readdirSync(join(data, 'compiled', release), { recursive: true }).length > 1);
});
