import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { main, serverEnvironment } from '../../../test/processes/server_process.ts';
import { readConfig } from '../../config/config.ts';
import { openLog } from '../../platform/log.ts';
import { lookAtNamedFiles } from './named_files.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

test('a wrong catalogue is refused by its setting, before a store is started', () => {
  const path = join(folder, 'catalogue.json');
  writeFileSync(path, '{}');
  const { status, stderr } = spawnSync(process.execPath, [main, 'start'], {
    env: serverEnvironment(folder, '', { SLUICE_PLUGIN_CATALOGUE: path }),
    encoding: 'utf8',
  });
  assert.equal(
    stderr,
    `SLUICE_PLUGIN_CATALOGUE: The plugin catalogue ${path} is wrong: it must be a list of ` +
      'entries.\n',
  );
  assert.equal(status, 1);
  assert.equal(existsSync(join(folder, 'data')), false);
});

/** Returns the log of a start with the settings; throws the error that stops it. */
function looked(environment: Record<string, string>): string {
  let logged = '';
  const log = openLog('info', 'json', { write: (line) => void (logged += line) });
  lookAtNamedFiles(readConfig(environment), log, { api: true });
  return logged;
}

test('a file where a folder must be stops the start, and what is not there yet does not', () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const variable of ['SLUICE_EXPORT_DIR', 'SLUICE_PLUGIN_DIR'])
    for (const path of [file, join(file, 'below')])
      assert.throws(() => looked({ [variable]: path }), {
        name: 'UserError',
        message: `${variable} must be a folder: ${file} is not a folder.`,
      });
  const own = { SLUICE_EXPORT_DIR: join(folder, 'x'), SLUICE_PLUGIN_DIR: join(folder, 'y') };
  assert.equal(looked(own), '');
  assert.equal(existsSync(join(folder, 'x')), false);
  const traces = (path: string) => looked({ ...own, SLUICE_TRACES_FILE: path });
  assert.equal(traces(join(folder, 'traces.jsonl')), '');
  assert.equal(traces(file), '');
  assert.throws(() => traces(folder), /^UserError: SLUICE_TRACES_FILE must be a file: /);
  assert.throws(
    () => traces(join(file, 'traces.jsonl')),
    /^UserError: The folder of SLUICE_TRACES_FILE must be a folder: /,
  );
  assert.match(
    traces(join(folder, 'none', 'traces.jsonl')),
    /SLUICE_TRACES_FILE: there is no fold/,
  );
});

test('an export folder that cannot be used now is a warning in the log', () => {
  const logged = looked({ SLUICE_EXPORT_DIR: '/proc/sluice/exports' });
  assert.match(logged, /"level":40.*SLUICE_EXPORT_DIR: \/proc is the kernel's own .* will fail/);
});
