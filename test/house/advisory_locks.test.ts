import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { listSourceFiles, root } from './source_files.ts';

const where = 'the list "Advisory locks" of ARCHITECTURE.md';

/**
 * A call of PostgreSQL's advisory locks: its file, and the number of its first key; undefined where
 * the key is made of something else.
 */
type Call = { path: string; number: string | undefined };

/** The numbers of locks that a file declares, by their constants. */
function numbersIn(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/^const (\w+) = (7_301_\d{3});$/gm)].map((match) => [match[1]!, match[2]!]),
  );
}

function callsIn(path: string, text: string): Call[] {
  const numbers = numbersIn(text);
  return [...text.matchAll(/\bpg_(?:try_)?advisory_\w+\((?:\$\{(\w+)\})?/g)].map((match) => ({
    path,
    number: match[1] === undefined ? undefined : numbers.get(match[1]),
  }));
}

/** The list's section, its entries in one line each. */
function listOf(page: string): string {
  const [, section = ''] = page.split('### Advisory locks\n');
  return section.split('\n## ')[0]!.replaceAll(/\n {2,}/g, ' ');
}

/** Lists the differences between calls and list, a sentence each. */
function faultsOf(calls: Call[], list: string): string[] {
  const entries = list.split('\n').filter((line) => line !== '');
  const known = [...list.matchAll(/`(7_301_\d{3})`/g)].map((match) => match[1]!);
  return [
    ...calls
      .filter(({ path, number }) => {
        const name = `\`${path.replace('server/', '')}\``;
        return !entries.some(
          (line) => line.includes(name) && (number === undefined || line.includes(number)),
        );
      })
      .map(
        ({ path, number = 'a lock without a number' }) =>
          `${path} takes ${number}: write it into ${where}, with who holds it and in what order.`,
      ),
    ...known
      .filter((number, index) => known.indexOf(number) !== index)
      .map((number) => `${number} stands twice in ${where}: two locks must not be one.`),
    ...known
      .filter((number) => !calls.some((call) => call.number === number))
      .map((number) => `Nothing takes ${number} any more: remove it from ${where}.`),
  ];
}

const files = listSourceFiles().filter(
  ({ path }) => path.startsWith('server/') && !path.endsWith('.test.ts'),
);

test('every advisory lock is in the list, with its file', () => {
  const list = listOf(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'));
  const calls = files.flatMap(({ path, text }) => callsIn(path, text));
  assert.deepEqual(faultsOf(calls, list), []);
});

test('no two advisory locks have one number', () => {
  const declared = files.flatMap(({ path, text }) =>
    [...text.matchAll(/\b7_?301_?\d{3}\b/g)].map((match) => ({ path, number: match[0] })),
  );
  const repeated = declared.filter(
    ({ number }) =>
      declared.filter((other) => other.number.replaceAll('_', '') === number.replaceAll('_', ''))
        .length > 1,
  );
  assert.deepEqual(repeated, [], 'Give the younger lock the next free number, in one place.');
});

test('the rule itself: what is told', () => {
  const text =
    'const claim_lock = 7_301_999;\nsql`SELECT pg_try_advisory_xact_lock(${claim_lock}, ${lane})`';
  const calls = callsIn('server/engine/new.ts', text);
  assert.deepEqual(calls, [{ path: 'server/engine/new.ts', number: '7_301_999' }]);
  assert.deepEqual(faultsOf(calls, '- `7_301_999`, `engine/new.ts`: one at a time.'), []);
  const told: [string, RegExp][] = [
    ['', /takes 7_301_999: write it/],
    ['- `7_301_999`, `engine/other.ts`: one.', /takes 7_301_999: write it/],
    ['- `7_301_999`, `engine/new.ts`.\n- `7_301_999`, `engine/old.ts`.', /stands twice/],
    [
      '- `7_301_999`, `engine/new.ts`.\n- `7_301_998`, `engine/old.ts`.',
      /takes 7_301_998 any more/,
    ],
  ];
  for (const [list, advice] of told) assert.match(faultsOf(calls, list).join('\n'), advice);
});
