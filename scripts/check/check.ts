/**
 * `npm test`: types, lint, format, unused code, the build of the console, and every test on one
 * embedded PostgreSQL and one embedded ClickHouse. All steps run, also when another fails; the exit
 * code says whether all passed. Arguments narrow the tests: `npm test -- server/engine` runs the
 * test files whose path contains that text, and lints the sources of such a path alone; `npm test
 * -- --changed` runs those that the changes of this branch can reach, `npm test -- --deep` those
 * that have a deep form, in that form, and what begins with `--test` goes on to Node's test runner
 * (`npm test -- ledger --test-name-pattern=union`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import '../require_node.mjs';
import { openTestStores } from './check_tests.ts';
import { chooseLinted, chooseTests } from './test_choice.ts';
import { groupTestFiles, writeGroups } from './test_groups.ts';
import { interrupt, isInterrupted, root, runNode, runTool } from '../child.ts';
import type { Write } from '../child.ts';
import { openTurns } from './turns.ts';

type Step = { title: string; run(write: Write): Promise<boolean> };
/** The end of a step, and its line in the summary. */
type Result = { passed: boolean; line: string };

const is_deep = process.argv.includes('--deep');
const test_seconds_max = is_deep ? 1_200 : 600;
const file_seconds_max = is_deep ? 1_800 : 900;
// Twice the cores of a small machine: many files wait, for time limits, for stores and browsers, or
// for processes that they kill.
const files_at_once = 5;
const checks_at_once = 2;

const compiled = join(root, 'node_modules', '.cache', 'sluice', 'compiled');
const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith('--test'));
const wanted = given.filter((argument) => !argument.startsWith('--test'));

const console_build: Step = {
  title: 'Console',
  run: (write) => runNode(['scripts/package/build_console.ts'], {}, write),
};
const checks: Step[] = [
  console_build,
  // Several checkers beside each other check much twice.
  { title: 'Types', run: (write) => runTool('tsc', ['--noEmit', '--checkers', '1'], write) },
  { title: 'Lint', run: (write) => runTool('oxlint', chooseLinted(wanted), write) },
  { title: 'Format', run: (write) => runTool('oxfmt', ['--check'], write) },
  { title: 'Unused code', run: (write) => runTool('knip', [], write) },
];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupt(signal));

const turns = openTurns((text) => process.stdout.write(text));
const checked = begin(checks, checks_at_once);
const results = await Promise.all([...checked, ...begin([{ title: 'Tests', run: runTests }], 1)]);
console.log(`\n=== Summary\n${results.map(({ line }) => line).join('\n')}`);
const isPassed = results.every(({ passed }) => passed);
if (isInterrupted()) console.log('Interrupted.');
else
  console.log(
    isPassed ? 'All passed.' : 'Something failed; what and why stands under its heading above.',
  );
process.exitCode = isInterrupted() ? 130 : isPassed ? 0 : 1;

/** Begins the steps in their order, `at_once` beside each other; their output comes in turn. */
function begin(steps: Step[], at_once: number): Promise<Result>[] {
  const left = steps.map((step) => ({
    step,
    turn: turns.take(),
    ended: Promise.withResolvers<Result>(),
  }));
  const results = left.map(({ ended }) => ended.promise);
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { step, turn, ended } = next;
      await runStep(step, (text) => turn.write(text)).then(ended.resolve, ended.reject);
      turn.end();
    }
  };
  for (let worker = 0; worker < at_once; worker += 1) void work();
  return results;
}

async function runStep(step: Step, write: Write): Promise<Result> {
  if (isInterrupted()) return { passed: false, line: `left out           ${step.title}` };
  write(`\n=== ${step.title}\n`);
  const started = performance.now();
  const passed = await step.run(write);
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
  return { passed, line: `${passed ? 'passed' : 'FAILED'} ${seconds} s  ${step.title}` };
}

async function runTests(write: Write): Promise<boolean> {
  const { files, needs_stores, told } = chooseTests(wanted);
  write(told);
  if (files.length === 0) return false;
  const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
  let stores: { environment: Record<string, string>; close(): Promise<void> } | undefined;
  try {
    if (needs_stores) stores = await openTestStores();
    // Servers of the tests serve what it builds.
    if (needs_stores) await checked[checks.indexOf(console_build)];
    if (isInterrupted()) return false;
    const flags = [
      '--test',
      '--test-reporter=spec',
      `--test-concurrency=${files_at_once}`,
      `--test-timeout=${test_seconds_max * 1000}`,
    ];
    // A few files of rules are done before a second process has loaded them.
    const groups = needs_stores ? groupTestFiles(files) : [files];
    const paths = await writeGroups(groups, folder, file_seconds_max);
    const environment = {
      ...stores?.environment,
      ...(is_deep ? { SLUICE_TEST_DEEP: 'true' } : {}),
      NODE_COMPILE_CACHE: compiled,
      SLUICE_TEST_DOCUMENT: join(folder, 'openapi.json'),
    };
    return await runNode([...flags, ...options, ...paths], environment, write);
  } catch (error) {
    write(`The tests did not start: ${error instanceof Error ? error.message : String(error)}\n`);
    return false;
  } finally {
    await stores?.close();
    await rm(folder, { recursive: true, force: true });
  }
}
