import assert from 'node:assert/strict';
import { test } from 'node:test';
import { switchState } from './switch_state.ts';

test('the state of a plugin has one word, and a button that leads out of it', () => {
  const error = { message: 'Stopped after 10 failures in a row.', at: '2026-11-29T10:00:00Z' };
  const of = (enabled: boolean, fault: typeof error | null) => {
    const { word, tone, button } = switchState({ enabled, error: fault });
    return [word, tone, button];
  };
  assert.deepEqual(of(true, null), ['On', 'good', 'Switch off']);
  assert.deepEqual(of(true, error), ['On, but waiting', 'warn', 'Switch off']);
  assert.deepEqual(of(false, null), ['Off', 'muted', 'Switch on']);
  assert.deepEqual(of(false, error), ['Stopped by Sluice', 'bad', 'Switch on again']);
});
