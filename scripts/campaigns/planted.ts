/**
 * Plants each fault of test/planted/ in the code that its test file runs, and reports which tests
 * find it: `npm run planted`, or `npm run planted -- ledger` for the faults that have this text in
 * their name or in one of their paths. Files on disk stay as they are. The exit code is 1 where no
 * test finds a fault, or a test file fails without one.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import '../require_node.mjs';
import { plantedEnvironment, plantIn } from '../../test/planted/fault.ts';
import type { Fault } from '../../test/planted/fault.ts';
import { faults } from '../../test/planted/faults.ts';
import { openTestStores } from '../check/check_tests.ts';
import { groupTestFiles, writeGroups } from '../check/test_groups.ts';
import { interrupt, isInterrupted, root, runNode } from '../child.ts';
import { refuse } from '../options.ts';

const test_seconds_max = 120;
const file_seconds_max = 300;
const at_once = 2;
/** A failed test in the runner's output, if it failed itself and not one of its subtests. */
const failed_test =
  /^ *not ok \d+ - (.*)\n *---\n(?: *(?:duration_ms|type|location): .*\n)* *failureType: '(?!subtestsFailed)/gm;

const parts = process.argv.slice(2);
const chosen = faults.filter(({ name, path, killed_by }) =>
  [name, path, killed_by].some((text) => parts.every((part) => text.includes(part))),
);
if (chosen.length === 0) refuse(`No planted fault has '${parts.join(' ')}' in name or path.`);
for (const fault of chosen) plantIn(await readFile(join(root, fault.path), 'utf8'), fault);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupt(signal));

const began = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'sluice-planted-'));
const stores = await openTestStores();
try {
  const files = [...new Set(chosen.map(({ killed_by }) => killed_by))].sort();
  console.log(`${files.length} test files without a fault ...`);
  const { passed, failed } = await runTests(files, {});
  if (passed) await plantAll();
  else fail(['These fail without a fault:', ...failed].join('\n'));
} finally {
  await stores.close();
  await rm(folder, { recursive: true, force: true });
}

async function plantAll(): Promise<void> {
  console.log(`They pass (${secondsSince(began)} s).\n`);
  console.log('| fault | found by | seconds |\n| --- | --- | --- |');
  const left = [...chosen];
  const survivors: Fault[] = [];
  const work = async () => {
    for (let fault = left.shift(); fault !== undefined; fault = left.shift()) {
      const started = performance.now();
      const { failed } = await runTests([fault.killed_by], plantedEnvironment(fault));
      if (isInterrupted()) return;
      if (failed.length === 0) survivors.push(fault);
      const tests = failed.length === 0 ? 'NO TEST' : failed.join('; ');
      console.log(`| ${fault.name} | ${tests} | ${secondsSince(started)} |`);
    }
  };
  await Promise.all(Array.from({ length: at_once }, work));
  if (isInterrupted()) return fail('Interrupted.');
  console.log(
    `\nTests found ${chosen.length - survivors.length} of ${chosen.length} faults in ` +
      `${secondsSince(began)} s.`,
  );
  for (const { name, path, killed_by } of survivors)
    fail(`${killed_by} does not find this fault in ${path}: ${name}. Write the test that does.`);
}

/**
 * Runs test files with this environment. `failed`: the names of the failed tests. A process that
 * does not load, or ends before its tests, counts as no test.
 */
async function runTests(
  files: string[],
  planted: Record<string, string>,
): Promise<{ passed: boolean; failed: string[] }> {
  const groups = groupTestFiles(files);
  const paths = await writeGroups(groups, await mkdtemp(join(folder, 'run-')), file_seconds_max);
  let output = '';
  const passed = await runNode(
    [
      '--test',
      '--test-reporter=tap',
      `--test-concurrency=${at_once}`,
      `--test-timeout=${test_seconds_max * 1000}`,
      ...paths,
    ],
    {
      ...stores.environment,
      ...planted,
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'sluice', 'compiled'),
    },
    (text) => (output += text),
  );
  const failed = [...output.matchAll(failed_test)].map(([, name]) => name!);
  return { passed, failed: failed.filter((name) => !paths.includes(name)) };
}

function secondsSince(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1);
}

function fail(text: string): void {
  console.error(text);
  process.exitCode = 1;
}
