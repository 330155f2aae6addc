import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countProcessorTime } from '../../../test/processor_time.ts';
import { lineDifferences } from './line_differences.ts';

const plenty = () => ({ read: 1e6, steps: 1e6, said: 1e6 });
const between = (before: string, after: string) => lineDifferences(before, after, plenty());

const numbered = Array.from({ length: 12 }, (_, at) => `${at + 1}\n`).join('');
const cases: [string, string, string, string][] = [
  ['nothing', 'a\n', 'a\n', ''],
  ['a file that comes', '', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b\n'],
  ['a file that goes', 'a\n', '', '@@ -1,1 +0,0 @@\n-a\n'],
  ['a line', 'a\nb\nc\n', 'a\nx\nc\n', '@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n'],
  ['the last line feed', 'a', 'a\n', '@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n'],
  [
    'two places',
    numbered,
    numbered.replace('1\n', 'x\n').replace('12\n', ''),
    '@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -9,4 +9,3 @@\n 9\n 10\n 11\n-12\n',
  ],
];

for (const [name, before, after, wanted] of cases)
  test(`line differences: ${name}`, () => assert.equal(between(before, after), wanted));

test('a difference that is too large is null, and returns soon', () => {
  const lines = (seed: number) =>
    Array.from({ length: 9_000 }, (_, at) => (at * seed) % 7_919).join('\n');
  const worked_ms = countProcessorTime();
  assert.equal(between(lines(3), lines(5)), null);
  assert.equal(between('\n'.repeat(30_000), ''), null);
  assert.equal(lineDifferences('a', 'b', { ...plenty(), said: 10 }), null);
  assert.equal(lineDifferences('a', 'b', { ...plenty(), read: 1 }), null);
  assert.ok(worked_ms() < 2_000);
});

test('the difference makes the one of the other', () => {
  const line = fc.constantFrom('a', 'b', 'c', '', '-', '+ x');
  const text = fc
    .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
    .map(([lines, ends]) => lines.join('\n') + (ends ? '\n' : ''));
  fc.assert(
    fc.property(text, text, (before, after) => {
      assert.equal(applied(before, between(before, after)!), after);
    }),
  );
});

function applied(before: string, difference: string): string {
  const lines = before.split(/(?<=\n)/);
  const created: string[] = [];
  let at = 0;
  let last = '';
  for (const [part] of difference.matchAll(/.*\n/g)) {
    const [, from, count] = /^@@ -(\d+),(\d+) /.exec(part) ?? [];
    if (from !== undefined) {
      const first = Number(from) - (count === '0' ? 0 : 1);
      created.push(...lines.slice(at, first));
      at = first;
    } else if (part.startsWith('\\')) {
      if (last !== '-') created.push(created.pop()!.slice(0, -1));
    } else {
      last = part[0]!;
      if (last !== '+') assert.equal(lines[at]?.replace(/\n$/, ''), part.slice(1, -1));
      if (last !== '-') created.push(part.slice(1));
      if (last !== '+') at += 1;
    }
  }
  return [...created, ...lines.slice(at)].join('');
}
