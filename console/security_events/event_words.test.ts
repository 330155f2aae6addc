import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentenceOf } from './event_words.ts';

test('an ordinary confirmation does not read like an attack', () => {
  const told = (reason: string) => sentenceOf({ event: 'right_refused', reason });
  assert.equal(told('own_factor_required'), 'Asked for a confirmation before a change');
  assert.equal(told('sso_enforced'), 'Refused request: the organization requires single sign-on');
  assert.equal(told('level'), 'Refused request: the level in the organization is too low');
});
