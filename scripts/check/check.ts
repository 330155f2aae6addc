/**
 * `npm test`: types, lint, format, unused code, the build of the console, and every test on one
 * embedded PostgreSQL and one embedded ClickHouse. All steps run, also when another fails; the exit
 * code says whether all passed. On a person's machine dear tests take turns from run to run, and
 * the linter reads what has changed; `npm test -- --all` and a pipeline run all.
 *
 * Arguments narrow the tests: `npm test -- server/engine` runs the test files whose path contains
 * that text, and lints the sources of such a path alone; `npm test -- --changed` runs those that
 * the changes of this branch can reach, `npm test -- --deep` those that have a deep form, in that
 * form, and what begins with `--test` goes on to Node's test runner (`npm test -- ledger
 * --test-name-pattern=union`).
 */
import '../require_node.mjs';
import { runTests } from './run_tests.ts';
import { chooseLinted } from './test_choice.ts';
import { interrupt, isInterrupted, runNode, runTool } from '../child.ts';
import type { Write } from '../child.ts';
import { openTurns } from './turns.ts';

type Step = { title: string; run(write: Write): Promise<boolean> };
/** The end of a step, and its line in the summary. */
type Result = { passed: boolean; line: string };

const checks_at_once = 2;

const given = process.argv.slice(2);
const is_deep = given.includes('--deep');
const options = given.filter((argument) => argument.startsWith('--test'));
const wanted = given.filter((argument) => !argument.startsWith('--test'));

const console_build: Step = {
  title: 'Console',
  run: (write) => runNode(['scripts/package/build_console.ts'], {}, write),
};
const checks: Step[] = [
  console_build,
  // Several checkers at once would check much of the code twice.
  { title: 'Types', run: (write) => runTool('tsc', ['--noEmit', '--checkers', '1'], write) },
  { title: 'Lint', run: (write) => lint(chooseLinted(wanted), write) },
  { title: 'Format', run: (write) => runTool('oxfmt', ['--check'], write) },
  { title: 'Unused code', run: (write) => runTool('knip', [], write) },
];

/** After a change without code there is nothing to lint. */
async function lint(files: string[], write: Write): Promise<boolean> {
  return files.length === 0 || runTool('oxlint', files, write);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => interrupt(signal));

const turns = openTurns((text) => process.stdout.write(text));
const checked = begin(checks, checks_at_once);
const unsteady: string[] = [];
const tests: Step = {
  title: 'Tests',
  run: async (write) => {
    const built = checked[checks.indexOf(console_build)]!;
    const end = await runTests({ wanted, options, is_deep }, built, write);
    unsteady.push(...end.unsteady);
    return end.passed;
  },
};
const results = await Promise.all([...checked, ...begin([tests], 1)]);
console.log(`\n=== Summary\n${results.map(({ line }) => line).join('\n')}`);
for (const file of unsteady)
  console.log(`UNSTEADY ${file}: failed beside others, passed alone. Mend it.`);
const isPassed = results.every(({ passed }) => passed);
if (isInterrupted()) console.log('Interrupted.');
else
  console.log(
    isPassed ? 'All passed.' : 'Something failed; what and why stands under its heading above.',
  );
process.exitCode = isInterrupted() ? 130 : isPassed ? 0 : 1;

/**
 * Starts the steps in their order, `at_once` of them concurrently, and prints their output in turn.
 */
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
