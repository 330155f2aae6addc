import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOfResults } from './outcome.ts';

const seen = {
  instance: 1,
  has_asked: true,
  status: undefined,
  retry_after: undefined,
  text: '',
  refusal: undefined,
  exchanges: [],
};

const answered = (value: object) => ({ getAllResponses: () => [{ value: () => value }] });

test('An action that returns a failed answer for its one event has not sent it', () => {
  const data = answered({ status: 503, errormessage: 'The server is full.' });
  assert.deepEqual(outcomeOfResults([{ output: 'Action Executed', data }], seen), {
    kind: 'retry',
    status: 503,
    reason: 'The server is full.',
    retry_after: null,
  });
});

test('An action that returns a good answer for its one event has sent it', () => {
  const data = answered({ status: 200, body: {} });
  assert.deepEqual(outcomeOfResults([{ output: 'Action Executed', data }], seen), {
    kind: 'sent',
  });
});

test('An action that asks nobody has sent nothing', () => {
  const results = [{ output: 'Action Executed', data: { batch: [] } }];
  assert.deepEqual(outcomeOfResults(results, { ...seen, has_asked: false }), { kind: 'skipped' });
  assert.deepEqual(outcomeOfResults(results, seen), { kind: 'sent' });
});
