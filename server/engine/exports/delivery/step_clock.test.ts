import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable, Writable, pipeline } from 'node:stream';
import { test } from 'node:test';
import type { AttemptSteps } from '../../model/run.ts';
import { followSource, openStepClock, shareClock } from './step_clock.ts';

const begun: AttemptSteps = {
  attempt: 1,
  began_at: '2026-01-01T00:00:00.000000Z',
  waited_ms: 7,
  counted_ms: null,
  read_ms: null,
  sent_ms: null,
  committed_ms: null,
};

/** A clock whose hands are moved by the test, and what it tells. */
function handClock() {
  const hand = { at: 1_000 };
  const steps = [{ ...begun, attempt: 3 }, { ...begun }];
  const clock = openStepClock({ steps }, () => hand.at);
  return {
    clock,
    pass: (milliseconds: number) => (hand.at += milliseconds),
    told: () => {
      const { waited_ms, counted_ms, read_ms, sent_ms, committed_ms } = steps[1]!;
      return [waited_ms, counted_ms, read_ms, sent_ms, committed_ms];
    },
    earlier: () => steps[0],
  };
}

test('each millisecond belongs to one step, also where a step comes again', () => {
  const { clock, pass, told, earlier } = handClock();
  pass(50);
  clock.enter('counted');
  pass(10);
  clock.enter('sent');
  pass(1);
  clock.enter('read');
  pass(200);
  clock.enter('sent');
  pass(30.4);
  clock.enter('committed');
  assert.deepEqual(told(), [7, 10, 200, 31, null]);
  pass(4);
  clock.stop();
  pass(1_000);
  clock.enter('sent');
  clock.stop();
  assert.deepEqual(told(), [7, 10, 200, 31, 4]);
  assert.deepEqual(earlier(), { ...begun, attempt: 3 });
});

test('time counts as reading while one of two slices reads', () => {
  const { clock, pass, told } = handClock();
  const clockOfSlice = shareClock(clock);
  const [one, other] = [clockOfSlice(), clockOfSlice()];
  one.enter('read');
  pass(10);
  other.enter('read');
  pass(10);
  one.enter('sent');
  pass(10);
  other.enter('sent');
  pass(5);
  clock.stop();
  assert.deepEqual(told(), [7, null, 30, 5, null]);
});

test('a full way counts as time of the destination', async () => {
  const { clock, pass, told } = handClock();
  const chunks = [Buffer.alloc(64), Buffer.alloc(64), null];
  const source = new Readable({ read: () => undefined });
  const taken: (() => void)[] = [];
  const destination = new Writable({
    highWaterMark: 64,
    write: (_chunk, _encoding, done) => void taken.push(done),
  });
  let isRead = false;
  followSource(clock, source, () => (isRead = true));
  pipeline(source, destination, () => undefined);
  for (const chunk of chunks.slice(0, 2)) {
    pass(100);
    const paused = once(source, 'pause');
    source.push(chunk);
    await paused;
    pass(20);
    const resumed = once(source, 'resume');
    taken.shift()!();
    await resumed;
  }
  pass(5);
  const ended = once(source, 'end');
  source.push(null);
  await ended;
  assert.equal(isRead, true);
  pass(3);
  clock.stop();
  assert.deepEqual(told(), [7, null, 205, 43, null]);
});
