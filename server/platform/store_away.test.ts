import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog } from './log.ts';
import { isStoreAway, outlast } from './store_away.ts';

const withCode = (code: string, more = {}) => Object.assign(new Error('No.'), { code, ...more });

test('a store that is away has its own error, which is logged without a stack', () => {
  let logged = '';
  const log = openLog('info', 'json', { write: (line) => void (logged += line) });
  for (const error of [
    withCode('57P01'),
    withCode('57P03'),
    withCode('53300'),
    withCode('ECONNREFUSED'),
    withCode('ENOENT', { syscall: 'connect' }),
    new Error('Connection terminated unexpectedly'),
    new Error('Client has encountered a connection error and is not queryable'),
  ]) {
    assert.ok(isStoreAway(error), error.message);
    log.warn({ err: error }, 'away');
  }
  assert.doesNotMatch(logged, /store_away\.test\.ts/);
  for (const error of [
    withCode('23505'),
    withCode('ENOENT', { syscall: 'open' }),
    new Error('x'),
    'x',
  ])
    assert.equal(isStoreAway(error), false);
  log.warn({ err: withCode('23505') }, 'a fault');
  assert.match(logged, /store_away\.test\.ts/);
});

test('work outlasts a store that is away, and no other error', async () => {
  let calls = 0;
  const answer = await outlast(async () => {
    calls += 1;
    if (calls < 3) throw withCode('57P03');
    return 'there';
  });
  assert.deepEqual([answer, calls], ['there', 3]);
  const fault = withCode('23505');
  await assert.rejects(
    outlast(async () => {
      calls += 1;
      throw fault;
    }),
    fault,
  );
  assert.equal(calls, 4);
});
