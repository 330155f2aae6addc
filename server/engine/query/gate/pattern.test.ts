import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countPositions } from './pattern.ts';

const cases: [pattern: string, positions: number][] = [
  ['', 0],
  ['abc', 3],
  ['a{3}b', 4],
  ['a{2,}', 3],
  ['a{0}', 1],
  ['(ab){10}', 20],
  ['((a{1,30}){1,30}){2}', 1_800],
  ['(?:a|b){3}', 6],
  ['(?P<n>ab){2}', 4],
  ['(?i)ab', 2],
  ['(?i:ab){2}', 4],
  ['(){1000}', 1_000],
  ['[a-z]{5}', 5],
  ['[]a]{3}', 3],
  ['[^]a]b', 2],
  ['[\\]]{2}', 2],
  ['[[:alpha:]]{2}', 2],
  ['\\d{3}-\\d{4}', 8],
  ['\\pN{3}\\p{Greek}{3}\\x{10FFFF}{3}', 9],
  ['\\Qa{3}\\E', 8],
  ['x{,3}', 5],
  ['a{1000}{1000}{1000}{1000}', 1_000_000_000],
  ['(', 0],
  ['[', 1],
  ['\\', 1],
];

test('the positions of a regular expression are counted with its repeats written out', () => {
  for (const [pattern, positions] of cases)
    assert.equal(countPositions(pattern), positions, pattern);
});

test('a repeat of a group is as much as the group written out', () => {
  const piece = fc.constantFrom('a', '[b-d]', '\\.', '(?:e|f)', 'g{3}', 'h*', '.', '\\x{41}');
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 9 }),
      (pieces, times) => {
        const pattern = pieces.join('');
        assert.equal(
          countPositions(`(?:${pattern}){${times}}`),
          countPositions(pattern.repeat(times)),
        );
      },
    ),
  );
});

test('any text is counted', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom(...Array.from('(){}[]\\^?:<>PpQE1,9*+|a')),
        maxLength: 60,
      }),
      (pattern) => countPositions(pattern) >= 0,
    ),
  );
});
