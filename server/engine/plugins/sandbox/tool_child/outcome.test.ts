import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOfError, outcomeOfMember, outcomeOfResults } from './outcome.ts';

const seen = {
  instance: 1,
  has_asked: true,
  status: undefined,
  retry_after: undefined,
  text: '',
  refusal: undefined,
  exchanges: [],
  known: undefined,
  read: { whole: undefined, single: undefined, members: [] },
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

test('An event left out beside a refused one is sent soon, at the same pace', () => {
  const beside = { status: 429, errormessage: 'Others were refused.' };
  assert.deepEqual(outcomeOfMember(beside, { ...seen, status: 400 }), {
    kind: 'retry',
    status: 400,
    reason: 'Others were refused.',
    retry_after: null,
  });
  const denied = outcomeOfMember(beside, { ...seen, status: 401 });
  assert.equal(denied.kind, 'denied');
  const limited = outcomeOfMember(beside, { ...seen, status: 429, text: 'Slow down.' });
  assert.deepEqual(
    [limited.kind, 'reason' in limited && limited.reason],
    ['retry', 'Others were refused. (429): Slow down.'],
  );
});

test('An answer that the library cannot read counts by its status', async () => {
  const down = { ...seen, status: 503, text: '<html></html>' };
  assert.equal(outcomeOfMember({ errormessage: 'Unknown.' }, down).kind, 'retry');
  assert.equal((await outcomeOfError(new SyntaxError('No JSON.'), down)).kind, 'retry');
  const good = await outcomeOfError(new SyntaxError('No JSON.'), { ...seen, status: 200 });
  assert.equal(good.kind, 'refused');
});
