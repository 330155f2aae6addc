import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from './outcome.ts';

const nothing = {
  name: null,
  config_schema: [],
  scheduled_tasks: [],
  event: null,
  calls: [],
  requests: [],
  refused_hosts: [],
  effects: [],
  logs: [],
  omitted: 0,
};
const call = (method: string, more: object = {}) => ({
  method,
  milliseconds: 3,
  result: 'null',
  error: null,
  ...more,
});
const request = (is_sent: boolean) => ({
  method: 'GET',
  url: 'https://example.com/',
  headers: {},
  body: null,
  is_sent,
  answer: null,
  error: null,
});

test('the outcome of a trial has a word, a colour and a sentence', () => {
  const worked = { ...nothing, calls: [call('onEvent')] };
  assert.deepEqual(outcomeOf(worked), {
    word: '✓ Worked',
    tone: 'good',
    said: 'onEvent ended after 3 ms. It made no request.',
  });
  const saidOf = (...sent: boolean[]) => outcomeOf({ ...worked, requests: sent.map(request) }).said;
  assert.match(saidOf(false), /It made 1 request\. Sluice did not send it\.$/);
  assert.match(saidOf(true, true), /It made 2 requests\.$/);
  const error = { message: 'no', is_retry: false, file: 'index.ts', line: 2, column: 9 };
  const failed = { ...nothing, calls: [call('onEvent', { error })] };
  assert.deepEqual(outcomeOf(failed), {
    word: '✕ Failed',
    tone: 'bad',
    said: 'onEvent: no (index.ts:2:9)',
  });
  const later = { ...error, is_retry: true, file: null, line: null, column: null };
  const retried = { ...nothing, calls: [call('onEvent', { error: later })] };
  assert.deepEqual(outcomeOf(retried).said, 'onEvent: no');
  assert.equal(outcomeOf(retried).tone, 'warn');
  assert.equal(
    outcomeOf({ ...failed, refused_hosts: ['example.com'] }).word,
    '◐ Would wait for an allowed host',
  );
  assert.equal(outcomeOf({ ...nothing, calls: [call('processEvent')] }).word, '✓ Dropped');
});
