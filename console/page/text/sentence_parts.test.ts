import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsOf } from './sentence_parts.ts';

test('a sentence is taken apart at its addresses and instants', () => {
  const cases: [string, string[]][] = [
    ['', []],
    ['Not found.', ['text: Not found.']],
    [
      'The next run is for 2026-11-27T00:45:00.000000Z to 2026-11-27T00:50:00Z.',
      [
        'text: The next run is for ',
        'instant: 2026-11-27T00:45:00.000000Z',
        'text:  to ',
        'instant: 2026-11-27T00:50:00Z',
        'text: .',
      ],
    ],
    ['2026-11-27T00:45+05:30', ['instant: 2026-11-27T00:45+05:30']],
    [
      'See https://sluice.example/runs?after=2026-11-27T00:45:00Z now',
      [
        'text: See ',
        'address: https://sluice.example/runs?after=2026-11-27T00:45:00Z',
        'text:  now',
      ],
    ],
    ['On 2026-11-27 at T00:45', ['text: On 2026-11-27 at T00:45']],
  ];
  for (const [sentence, parts] of cases)
    assert.deepEqual(
      partsOf(sentence).map(({ kind, text }) => `${kind}: ${text}`),
      parts,
    );
});
