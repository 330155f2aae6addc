import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { isInterrupted, root, runNode } from '../child.ts';
import type { Write } from '../child.ts';
import { openTestStores } from './check_tests.ts';
import { chooseTests } from './test_choice.ts';
import { groupTestFiles, writeGroups } from './test_groups.ts';
import { turns_max } from './turn.ts';

/** Number of pairs of cores of this machine that have 4 GiB of memory for each core. */
const share = Math.max(
  1,
  Math.floor(Math.min(availableParallelism() / 2, totalmem() / (8 * 1024 ** 3))),
);
// More than twice the cores: many files wait for time limits, stores, browsers, or killed
// processes.
const files_at_once = 5 * share;
/** More failed files than these have a common cause other than the load. */
const repeated_max = 3;
/** Files that draw cases at random: a second run would draw other cases and hide a finding. */
const drawing = /^test\/(chaos|commit_answers|fault_matrix|simulation)\//;

const compiled = join(root, 'node_modules', '.cache', 'sluice', 'compiled');

/** The result of all tests. */
export type TestsEnd = {
  passed: boolean;
  /** Files that failed in the run and passed alone. */
  unsteady: string[];
};

/**
 * Runs the test files that `wanted` selects, with `options` for Node's test runner, on their own
 * stores, once `built` has ended. Up to three failed files run again, each alone, and are named.
 * The run passes if they all pass then (decision 0119).
 */
export async function runTests(
  { wanted, options, is_deep }: { wanted: string[]; options: string[]; is_deep: boolean },
  built: Promise<unknown>,
  write: Write,
): Promise<TestsEnd> {
  const turn = Number(process.env['SLUICE_TEST_TURN'] ?? randomInt(turns_max));
  const { files, needs_stores, told } = chooseTests(wanted, turn);
  write(`${told}SLUICE_TEST_TURN=${turn} repeats the turns of this run.\n`);
  if (files.length === 0) return failed;
  const folder = await mkdtemp(join(tmpdir(), 'sluice-check-'));
  let stores: { environment: Record<string, string>; close(): Promise<void> } | undefined;
  try {
    if (needs_stores) stores = await openTestStores();
    // The servers of the tests serve the built console.
    if (needs_stores) await built;
    if (isInterrupted()) return failed;
    const environment = {
      ...stores?.environment,
      ...(is_deep ? { SLUICE_TEST_DEEP: 'true' } : {}),
      SLUICE_TEST_TURN: String(turn),
      NODE_COMPILE_CACHE: compiled,
      SLUICE_TEST_DOCUMENT: join(folder, 'openapi.json'),
    };
    const run = (groups: string[][], at_once: number) =>
      runGroups({ groups, at_once, folder, options, is_deep, environment }, write);
    // The few files of rules are done before a second process has loaded them.
    const first = await run(needs_stores ? groupTestFiles(files, share) : [files], files_at_once);
    if (first.passed) return { passed: true, unsteady: [] };
    if (!isWorthRepeating(first.failed, files) || isInterrupted()) return failed;
    write(`\nFailed beside others, and run again alone: ${first.failed.join(', ')}\n`);
    const { passed } = await run(
      first.failed.map((file) => [file]),
      1,
    );
    return { passed, unsteady: passed ? first.failed : [] };
  } catch (error) {
    write(`The tests did not start: ${error instanceof Error ? error.message : String(error)}\n`);
    return failed;
  } finally {
    await stores?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function isWorthRepeating(failed: string[], files: string[]): boolean {
  const isFileOfLoad = (file: string) => files.includes(file) && !drawing.test(file);
  return failed.length > 0 && failed.length <= repeated_max && failed.every(isFileOfLoad);
}

const failed: TestsEnd = { passed: false, unsteady: [] };

type Run = {
  groups: string[][];
  at_once: number;
  folder: string;
  options: string[];
  is_deep: boolean;
  environment: Record<string, string>;
};

async function runGroups(
  { groups, at_once, folder, options, is_deep, environment }: Run,
  write: Write,
): Promise<{ passed: boolean; failed: string[] }> {
  const told = join(folder, 'failed_files');
  await rm(told, { force: true });
  const flags = [
    '--test',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${join(root, 'scripts/check/failed_files.ts')}`,
    `--test-reporter-destination=${told}`,
    `--test-concurrency=${at_once}`,
    `--test-timeout=${(is_deep ? 1_200 : 600) * 1000}`,
  ];
  const paths = await writeGroups(groups, folder, is_deep ? 1_800 : 900);
  const passed = await runNode([...flags, ...options, ...paths], environment, write);
  const lines = passed ? '' : await readFile(told, 'utf8').catch(() => '');
  return { passed, failed: lines.split('\n').filter((line) => line !== '') };
}
