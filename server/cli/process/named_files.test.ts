import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { main, serverEnvironment } from '../../../test/processes/server_process.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-named-files-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('a wrong catalogue is told by its setting, before a store is started', () => {
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
