import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { root } from '../child.ts';
import { listTestFiles } from './check_tests.ts';
import { leaveOutDear } from './dear_tests.ts';
import {
  listChangedFiles,
  listImporters,
  listReaching,
  listRecentFiles,
  listTestsOfChange,
  of_all_tests,
  readReach,
} from './test_reach.ts';
import type { Reach } from './test_reach.ts';

/** The test files that run, whether any of them opens a store, and the text about the choice. */
export type TestChoice = { files: string[]; needs_stores: boolean; told: string };

const options = ['--all', '--changed', '--deep'];
const all_linted = ['.'];
/** A change of these may change the linter's findings in any file. */
const of_all_linted = /^(\.oxlintrc|tsconfig)\.json$|\.d\.ts$/;
const depth = ['test/depth.ts'];
const shared_stores = ['test/harness_stores.ts'];
const own_stores = [
  'server/platform/embedded/postgres/postgres.ts',
  'server/platform/embedded/clickhouse/clickhouse.ts',
  'test/servers/databases/clickhouse_bytes.ts',
];

/**
 * Selects the test files for the arguments of `npm test`: texts that a path contains, `--changed`
 * for the files that a change can reach, `--deep` for those with a deep form, and `--all`. Without
 * an argument, a person's run omits dear files that are not due, and a pipeline runs all.
 */
export function chooseTests(
  wanted: string[],
  turn: number,
  is_pipeline = process.env['CI'] === 'true',
): TestChoice {
  const tests = listTestFiles([]);
  const has_all = wanted.includes('--all') || (wanted.length === 0 && is_pipeline);
  if (wanted.length === 0 && !has_all) return chooseUsual(tests, turn);
  const unknown = wanted.find((word) => word.startsWith('-') && !options.includes(word));
  if (unknown !== undefined)
    return choice([], false, `npm test has no option ${unknown}; it has ${options.join(', ')}.`);
  const reach = readReach();
  const storing = listReaching(reach, shared_stores);
  const decide = (files: string[], told: string) =>
    choice(
      files,
      files.some((file) => storing.has(file)),
      told,
    );
  if (has_all) return choice(tests, true, 'All');
  const patterns = wanted.filter((word) => !options.includes(word));
  const named = listTestFiles(patterns);
  if (wanted.includes('--deep')) {
    const deep = listReaching(reach, depth);
    return decide(
      named.filter((file) => deep.has(file)),
      'What can go deep',
    );
  }
  if (wanted.includes('--changed')) {
    const changed = listChangedFiles();
    const reached = listTestsOfChange(reach, named, changed);
    return decide(reached, `What ${changed.length} changed files can reach`);
  }
  const words = patterns.join(' or ');
  if (named.length > 0) return decide(named, `Path contains ${words}`);
  const reaching = listTestsOfSources(reach, tests, patterns);
  const impure = listReaching(reach, own_stores);
  if (reaching.length === 0) return choice([], false, `No file has a path that contains ${words}.`);
  return decide(
    reaching.filter((file) => !impure.has(file)),
    `No test file has a path that contains ${words}. ${reaching.length} tests reach its sources ` +
      '(`npm test -- --changed` runs them after a change); those without stores',
  );
}

function chooseUsual(tests: string[], turn: number): TestChoice {
  const reach = readReach();
  const storing = listReaching(reach, [...shared_stores, ...own_stores]);
  const files = leaveOutDear(tests, turn, { reach, storing, changed: listRecentFiles() });
  const left = tests.length - files.length;
  return choice(files, true, `All but ${left} dear ones, which have turns in other runs (--all)`);
}

/**
 * Returns the source files for the linter, the slowest check, for the arguments of `npm test`:
 * those whose path contains one of the texts, or the whole folder. Without an argument, a person's
 * run reads the recent changes and their importers, and a pipeline all.
 */
export function chooseLinted(
  wanted: string[],
  is_pipeline = process.env['CI'] === 'true',
  recent = listRecentFiles,
): string[] {
  if (wanted.length === 0 && !is_pipeline) return listLintedOf(recent());
  const patterns = wanted.filter((word) => !options.includes(word));
  const isAll = patterns.length === 0 || wanted.includes('--changed') || wanted.includes('--all');
  return isAll ? all_linted : listSources(readReach(), patterns);
}

/**
 * Returns the changed sources and their importers: the linter's findings depend on the types of
 * both.
 */
function listLintedOf(changed: string[]): string[] {
  if (changed.some((file) => of_all_linted.test(file) || of_all_tests.test(file)))
    return all_linted;
  const isThere = (file: string) => /\.[cm]?[jt]sx?$/.test(file) && existsSync(join(root, file));
  return [...new Set([...changed.filter(isThere), ...listImporters(changed)])];
}

function choice(files: string[], needs_stores: boolean, told: string): TestChoice {
  return {
    files,
    needs_stores,
    told: files.length === 0 ? `${told}\n` : `${told}: ${files.length} test files\n`,
  };
}

function listTestsOfSources(reach: Reach, tests: string[], patterns: string[]): string[] {
  const reaching = listReaching(reach, listSources(reach, patterns));
  return tests.filter((file) => reaching.has(file));
}

function listSources(reach: Reach, patterns: string[]): string[] {
  return [...reach.keys()].filter((file) =>
    patterns.some((pattern) => file.includes(pattern.replace(/^\.\//, ''))),
  );
}
