import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { startChores } from './chores.ts';
import { silentLog } from '../log.ts';

test('chores run at once and again, never twice at a time, and independently', async () => {
  const runs = { quick: 0, slow: 0 };
  let open = 0;
  let open_max = 0;
  const done = Promise.withResolvers<void>();
  const quick = async () => {
    runs.quick += 1;
    if (runs.quick >= 20 && runs.slow >= 2) done.resolve();
  };
  const slow = async () => {
    open += 1;
    open_max = Math.max(open_max, open);
    await setTimeout(20);
    open -= 1;
    runs.slow += 1;
  };
  const chores = startChores(
    [
      { name: 'quick', interval_ms: 1, work: quick },
      { name: 'slow', interval_ms: 1, work: slow },
    ],
    silentLog(),
  );
  await done.promise;
  await chores.stop();
  assert.equal(open_max, 1);
  assert.ok(runs.quick > runs.slow);
});

test('a fault is logged with the name of the chore, once while it lasts, and its end', async () => {
  const lines: { msg: string; level: number }[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, next) => next(void lines.push(JSON.parse(String(chunk)))),
  });
  let runs = 0;
  const again = Promise.withResolvers<void>();
  const work = async () => {
    runs += 1;
    if (runs < 4) throw new Error('The store is away.');
    if (runs < 5) throw new Error('The store starts.');
    if (runs > 5) again.resolve();
  };
  const chores = startChores([{ name: 'failing', interval_ms: 1, work }], pino({}, sink));
  await again.promise;
  await chores.stop();
  assert.deepEqual(
    lines.map(({ msg, level }) => [msg, level]),
    [
      ['failing failed; Sluice retries', 40],
      ['failing failed; Sluice retries', 40],
      ['failing works again', 30],
    ],
  );
});

test('stop ends waits, signals the work in progress, and waits for its end, silently', async () => {
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, next) => next(void lines.push(String(chunk))),
  });
  let ended = 0;
  const begun = Promise.withResolvers<void>();
  const work = async (signal: AbortSignal) => {
    begun.resolve();
    await setTimeout(60_000, undefined, { signal }).finally(() => (ended += 1));
  };
  let waited = 0;
  const idled = Promise.withResolvers<void>();
  const idle = async () => {
    waited += 1;
    idled.resolve();
  };
  const chores = startChores(
    [
      { name: 'long', interval_ms: 60_000, work },
      { name: 'idle', interval_ms: 60_000, work: idle },
    ],
    pino({}, sink),
  );
  await Promise.all([begun.promise, idled.promise]);
  await chores.stop();
  assert.deepEqual([ended, waited, lines], [1, 1, []]);
});

test('chores begin one after the other, and none after a stop', async () => {
  const begun: string[] = [];
  const chore = (name: string) => ({
    name,
    interval_ms: 60_000,
    work: async () => void begun.push(name),
  });
  const chores = startChores(['first', 'second'].map(chore), silentLog());
  assert.deepEqual(begun, ['first']);
  await chores.stop();
  assert.deepEqual(begun, ['first']);
});
