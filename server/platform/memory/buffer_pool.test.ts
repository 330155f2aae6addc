import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack, isPooled, openBufferPool } from './buffer_pool.ts';

const room_bytes = 64 * 1024;

test('what was lent stays as it is until it is given back, then it is used again', () => {
  const blocks = openBufferPool(room_bytes);
  const memory = new Set<ArrayBufferLike>();
  const held: { bytes: Buffer; value: number }[] = [];
  for (let read = 0; read < 2_000; read += 1) {
    const count = 1 + ((read * 7919) % room_bytes);
    const room = blocks.room();
    assert.ok(room.length >= room_bytes);
    const value = read % 251;
    room.fill(value, 0, count);
    const bytes = blocks.lend(count);
    memory.add(bytes.buffer);
    held.push({ bytes, value });
    if (held.length < 20) continue;
    // Not in the order in which they were lent, and one in two parts.
    const [{ bytes: given, value: expected }] = held.splice((read * 31) % held.length, 1) as [
      { bytes: Buffer; value: number },
    ];
    assert.ok(given.every((byte) => byte === expected));
    const half = given.length >> 1;
    giveBack(given.subarray(0, half));
    giveBack(given.subarray(half));
  }
  assert.ok(held.every(({ bytes, value }) => bytes.every((byte) => byte === value)));
  assert.ok(memory.size < 20, `${memory.size} blocks for 2,000 reads`);
});

test('what is not given back is not used again, and what was never lent is nobody’s', () => {
  const blocks = openBufferPool(room_bytes);
  const memory = new Set(
    Array.from({ length: 64 }, () => {
      blocks.room();
      return blocks.lend(room_bytes).buffer;
    }),
  );
  assert.equal(memory.size, 4);
  const own = Buffer.from('own');
  assert.equal(isPooled(own), false);
  giveBack(own);
  blocks.room();
  const last = blocks.lend(10);
  assert.ok(isPooled(last));
  giveBack(last);
  assert.throws(() => giveBack(last), /twice/);
});
