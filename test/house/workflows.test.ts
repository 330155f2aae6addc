import assert from 'node:assert/strict';
import { globSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { root } from './source_files.ts';

type Step = { uses?: string; run?: string };
type Job = { strategy?: { matrix: Record<string, string[]> }; steps: Step[] };
type Workflow = { jobs: Record<string, Job> };

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const files = globSync('.github/**/*.yml', { cwd: root });
const workflows = files
  .filter((path) => path.includes('/workflows/'))
  .map((path) => ({ path, ...(parse(read(path)) as Workflow) }));

/** The commands of a job, one for each value of the matrix that it names. */
function commandsOf({ strategy, steps }: Job): string[] {
  const matrix = Object.entries(strategy?.matrix ?? {});
  return steps.flatMap(({ run = '' }) =>
    matrix.reduce(
      (texts, [name, values]) =>
        texts.flatMap((text) =>
          values.map((value) => text.replace(`\${{ matrix.${name} }}`, value)),
        ),
      [run],
    ),
  );
}

/** The scripts that a command runs by npm. */
function scriptsIn(command: string): string[] {
  const named = [...command.matchAll(/\bnpm (?:run |(?=test\b))([\w:]+)/g)];
  return named.map(([, name]) => name!);
}

const jobs = workflows.flatMap(({ jobs: all }) => Object.values(all));
const named = new Set(jobs.flatMap(commandsOf).flatMap(scriptsIn));

test('every file of .github/ is YAML, and there are workflows', () => {
  for (const path of files) assert.equal(typeof parse(read(path)), 'object', path);
  assert.ok(workflows.length >= 2);
});

test('every npm script that a workflow names is in package.json', () => {
  assert.deepEqual(
    [...named].filter((name) => scripts[name] === undefined),
    [],
  );
});

test('every campaign runs by night', () => {
  // `full_disk` mounts file systems, `rolling` needs a commit to start from.
  const by_hand = ['full_disk', 'rolling'];
  const campaigns = readdirSync(join(root, 'scripts/campaigns'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => basename(name, '.ts'));
  const missing = campaigns.filter((name) => !named.has(name) && !by_hand.includes(name));
  assert.deepEqual(missing, [], 'Add its line to .github/workflows/nightly.yml.');
});

test('every action is pinned to a major version', () => {
  const used = jobs.flatMap(({ steps }) => steps.flatMap(({ uses = [] }) => uses));
  assert.ok(used.length > 0);
  assert.deepEqual(
    used.filter((action) => !/^[\w-]+\/[\w-]+@v\d+$/.test(action)),
    [],
  );
});

test('scripts are found in commands, with each value of a matrix', () => {
  const job = {
    strategy: { matrix: { a: ['x:y', 'z'] } },
    steps: [{ run: 'npm run ${{ matrix.a }}' }],
  };
  assert.deepEqual(commandsOf(job).flatMap(scriptsIn), ['x:y', 'z']);
  assert.deepEqual(scriptsIn('npm ci && npm test -- --deep'), ['test']);
});
