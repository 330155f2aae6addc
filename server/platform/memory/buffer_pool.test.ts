import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack, isPooled, openBufferPool } from './buffer_pool.ts';

const room_bytes = 64 * 1024;

test('a lent buffer stays unchanged until it is returned, then it is used again', () => {
  const blocks = openBufferPool(room_bytes);
  const memory = new Set<ArrayBufferLike>();
  const reads: Buffer[] = [];
  const held: { bytes: Buffer; reads: Buffer[] }[] = [];
  const isWhole = (one: (typeof held)[number]) => one.bytes.equals(Buffer.concat(one.reads));
  for (let read = 0; read < 2_000; read += 1) {
    const count = 1 + ((read * 7919) % room_bytes);
    const room = blocks.room();
    assert.ok(room.length >= room_bytes);
    const value = read % 251;
    room.fill(value, 0, count);
    reads.push(Buffer.alloc(count, value));
    const bytes = blocks.fill(count);
    if (bytes === undefined) continue;
    memory.add(bytes.buffer);
    held.push({ bytes, reads: reads.splice(0) });
    if (held.length < 5) continue;
    // Not in the order in which they were lent, and one in two parts.
    const [given] = held.splice((read * 31) % held.length, 1);
    assert.ok(isWhole(given!));
    const half = given!.bytes.length >> 1;
    giveBack(given!.bytes.subarray(0, half));
    giveBack(given!.bytes.subarray(half));
  }
  assert.ok(held.every(isWhole));
  assert.deepEqual(blocks.rest(), Buffer.concat(reads));
  assert.equal(blocks.rest(), undefined);
  assert.ok(memory.size < 10, `${memory.size} blocks for 2,000 reads`);
});

test('only a lent and returned buffer is used again', () => {
  const blocks = openBufferPool(room_bytes);
  const pieces = Array.from({ length: 64 }, () => {
    blocks.room();
    return blocks.fill(room_bytes);
  }).filter((piece) => piece !== undefined);
  assert.equal(new Set(pieces.map(({ buffer }) => buffer)).size, 16);
  assert.ok(pieces.every(({ length }) => length === 256 * 1024));
  const own = Buffer.from('own');
  assert.equal(isPooled(own), false);
  giveBack(own);
  blocks.room();
  assert.equal(blocks.fill(10), undefined);
  const last = blocks.rest()!;
  assert.ok(isPooled(last));
  giveBack(last);
  assert.throws(() => giveBack(last), /twice/);
});
