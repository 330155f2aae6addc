import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { unavailable } from '../errors.ts';
import { openArrivals } from './arrivals.ts';

const mebibyte = 1024 * 1024;
const chunk = Buffer.alloc(16 * mebibyte);
let now = 0;
const { read, refuseLate } = openArrivals(
  { now: () => now },
  {
    room_bytes_max: 128 * mebibyte,
    arrival_ms_max: 60_000,
    busy: () => unavailable('Come again.', 1),
  },
);

/** A body that never ends by itself, and what becomes of it. */
function come(owner: string, says_bytes = 0) {
  const body = new Readable({ read: () => undefined });
  const become: { status?: number; bytes?: number } = {};
  read(body, { owner, says_bytes, bytes_max: 20 * mebibyte }, (error, bytes) => {
    if (error === null) become.bytes = bytes!.length;
    else become.status = (error as { status?: number }).status!;
  });
  return { become, push: (bytes: Buffer) => body.emit('data', bytes), body };
}
test('a body that is too long is refused as soon as that is known', () => {
  assert.equal(come('a', 20 * mebibyte + 1).become.status, 413);
  const long = come('a');
  long.push(chunk);
  assert.deepEqual(long.become, {});
  long.push(chunk);
  assert.equal(long.become.status, 413);
});

test('bodies of one owner, and of all, are bounded; their space comes back', () => {
  const four = ['a', 'a', 'a', 'a'].map((owner) => come(owner));
  for (const { push } of four) push(chunk);
  const fifth = come('a');
  fifth.push(Buffer.alloc(1));
  assert.equal(fifth.become.status, 503);
  const others = ['b', 'b', 'c', 'c'].map((owner) => come(owner));
  for (const { push } of others) push(chunk);
  const ninth = come('d');
  ninth.push(Buffer.alloc(1));
  assert.equal(ninth.become.status, 503);
  four[0]!.body.emit('end');
  assert.equal(four[0]!.become.bytes, chunk.length);
  const next = come('d');
  next.push(Buffer.alloc(1));
  assert.deepEqual(next.become, {});
  for (const { body } of [...four.slice(1), ...others, next]) body.emit('end');
});

test('a body that takes a minute, or breaks, is put off and reported once', () => {
  const [slow, broken, whole] = [come('a'), come('a'), come('a')];
  broken.body.emit('error', Object.assign(new Error('gone'), { status: 400 }));
  whole.push(Buffer.from('{}'));
  now += 59_999;
  refuseLate();
  assert.deepEqual(slow.become, {});
  whole.body.emit('end');
  now += 1;
  refuseLate();
  assert.deepEqual([slow.become.status, broken.become.status, whole.become.bytes], [503, 400, 2]);
});
