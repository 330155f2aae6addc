import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOutcome } from './tool_outcome.ts';

const failed = { kind: 'refused', status: 400, reason: 'no', retry_after: null };

const wrong: [string, unknown][] = [
  ['nothing', null],
  ['a text', 'sent'],
  ['another kind', { kind: 'own' }],
  ['a reason that is no text', { ...failed, reason: { toString: 1 } }],
  ['a status that is no number', { ...failed, status: '400' }],
  ['a status beyond all', { ...failed, status: 1e9 }],
  ['a pause that is no text', { ...failed, retry_after: 5 }],
  ['a kind of the prototype', { __proto__: failed }],
];

for (const [name, said] of wrong)
  test(`${name} is no outcome of a tool`, () => {
    assert.equal((readOutcome(said) as { kind: string }).kind, 'retry');
  });

test('An outcome of a tool can be stored', () => {
  assert.deepEqual(readOutcome({ ...failed, reason: 'a\0b\ud800' }), {
    ...failed,
    reason: 'a\uFFFDb\uFFFD',
  });
  assert.deepEqual(readOutcome({ kind: 'sent' }), { kind: 'sent' });
});
