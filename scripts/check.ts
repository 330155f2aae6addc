/**
 * `npm test`: types, lint, format, unused code, the build of the console, then every test on one
 * embedded PostgreSQL and one embedded ClickHouse. All steps run, also after one that failed; the
 * exit code says whether all passed. Arguments narrow the tests: `npm test -- server/engine` runs
 * the test files whose path contains that text, and what begins with `--test` goes on to Node's
 * test runner (`npm test -- ledger --test-name-pattern=union`).
 */
import { join } from 'node:path';
import './require_node.mjs';
import { listTestFiles, openTestStores } from './check_tests.ts';
import type { TestStores } from './check_tests.ts';
import { groupTestFiles, writeGroups } from './test_groups.ts';
import { interrupt, isInterrupted, runNode, runTool } from './child.ts';

type Step = { title: string; run(): Promise<boolean> };

const test_seconds_max = 180;
const file_seconds_max = 300;
// One more than the cores of a small machine: many files wait, for time limits or for processes
// that they kill.
const files_at_once = 3;

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--test'));
const patterns = process.argv.slice(2).filter((argument) => !argument.startsWith('--test'));

const steps: Step[] = [
  { title: 'Types', run: checkTypes },
  { title: 'Lint', run: () => runTool('oxlint', []) },
  { title: 'Format', run: () => runTool('oxfmt', ['--check']) },
  { title: 'Unused code', run: () => runTool('knip', []) },
  { title: 'Console', run: () => runNode(['scripts/build_console.ts'], {}) },
  { title: 'Tests', run: runTests },
];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupt(signal));

const lines: string[] = [];
let isPassed = true;
for (const step of steps) {
  if (isInterrupted()) break;
  console.log(`\n=== ${step.title}`);
  const started = performance.now();
  const passed = await step.run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
  lines.push(`${passed ? 'passed' : 'FAILED'} ${seconds} s  ${step.title}`);
  isPassed &&= passed;
}
console.log(`\n=== Summary\n${lines.join('\n')}`);
if (isInterrupted()) console.log('Interrupted.');
else
  console.log(
    isPassed ? 'All passed.' : 'Something failed; what and why stands under its heading above.',
  );
process.exitCode = isInterrupted() ? 130 : isPassed ? 0 : 1;

async function checkTypes(): Promise<boolean> {
  const server = await runTool('tsc', ['--noEmit']);
  return (await runTool('tsc', ['--noEmit', '-p', 'console'])) && server;
}

async function runTests(): Promise<boolean> {
  const files = listTestFiles(patterns);
  if (files.length === 0) {
    console.log(`No test file has a path that contains ${patterns.join(' or ')}.`);
    return false;
  }
  let stores: TestStores;
  try {
    stores = await openTestStores();
  } catch (error) {
    console.log(
      'The stores for the tests did not start: ' +
        (error instanceof Error ? error.message : String(error)),
    );
    return false;
  }
  try {
    if (isInterrupted()) return false;
    const flags = [
      '--import=./scripts/test_deadline.ts',
      '--test',
      '--test-reporter=spec',
      `--test-concurrency=${files_at_once}`,
      `--test-timeout=${test_seconds_max * 1000}`,
    ];
    const paths = await writeGroups(
      groupTestFiles(files),
      join(stores.folder, 'groups'),
      file_seconds_max,
    );
    return await runNode([...flags, ...options, ...paths], {
      ...stores.environment,
      SLUICE_TEST_FILE_SECONDS: String(file_seconds_max),
    });
  } finally {
    await stores.close();
  }
}
