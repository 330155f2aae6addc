import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRoom } from './room.ts';

test('one owner gets half of the space, and all get the whole; it comes back', () => {
  const { enter } = openRoom(100, () => new Error('full'));
  const first = enter('a');
  first.hold(40);
  first.hold(30);
  const second = enter('a');
  second.hold(20);
  assert.throws(() => second.hold(21), /full/);
  // Less is never refused: it is what makes room.
  second.hold(20);
  enter('b').hold(50);
  assert.throws(() => enter('c').hold(1), /full/);
  first.leave();
  assert.throws(() => enter('b').hold(1), /full/);
  enter('c').hold(10);
});

test('a refused body holds its place until it leaves', () => {
  const { enter } = openRoom(100, () => new Error('full'));
  const place = enter('a');
  assert.throws(() => place.hold(60), /full/);
  const other = enter('a');
  assert.throws(() => other.hold(1), /full/);
  other.leave();
  place.leave();
  place.leave();
  enter('a').hold(50);
});
