import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { plantedEnvironment, plantIn } from '../planted/fault.ts';
import { faults } from '../planted/faults.ts';
import { withFaultsTable } from '../planted/faults_table.ts';
import { faults as simulated } from '../simulation/faults.ts';
import { root } from './source_files.ts';

const run = promisify(execFile);
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('each planted fault has its place in the code, and a test file that must find it', () => {
  for (const fault of faults) {
    assert.notEqual(plantIn(read(fault.path), fault), read(fault.path), fault.name);
    assert.ok(existsSync(join(root, fault.killed_by)), `${fault.name}: ${fault.killed_by}`);
    assert.match(fault.killed_by, /\.test\.ts$/, fault.name);
  }
  const names = faults.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length, 'Give each fault a name of its own.');
});

test('each fault for the simulation has its place in the code', () => {
  for (const fault of simulated)
    assert.notEqual(plantIn(read(fault.path), fault), read(fault.path), fault.name);
});

test('docs/planted_faults.md lists the planted faults as they are', () => {
  const page = read('docs/planted_faults.md');
  assert.equal(page, withFaultsTable(page), 'Run: npm run docs:planted');
});

const counted = {
  path: 'server/platform/counted.ts',
  was: 'count === 1',
  is: 'count === 2',
};
const loading = {
  import: `import { counted } from './${counted.path}'; console.log(counted(2, 'run'));`,
  require:
    "const { createRequire } = await import('node:module'); " +
    `const { counted } = createRequire('${root}/')('./${counted.path}'); ` +
    "console.log(counted(2, 'run'));",
};

for (const [way, code] of Object.entries(loading))
  test(`a fault is there where its file is loaded by ${way}, and nowhere on disk`, async () => {
    const before = read(counted.path);
    const load = (environment: Record<string, string>) =>
      run(process.execPath, ['--input-type=module', '-e', code], {
        cwd: root,
        env: { ...process.env, ...environment },
      });
    assert.equal((await load({})).stdout, '2 runs\n');
    assert.equal((await load(plantedEnvironment(counted))).stdout, '2 run\n');
    assert.equal(read(counted.path), before);
    const gone = plantedEnvironment({ ...counted, was: 'no such text' });
    await assert.rejects(load(gone), /says nowhere: no such text/);
  });
