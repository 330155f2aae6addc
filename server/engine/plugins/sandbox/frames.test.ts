import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeFrame, openFrameReader } from './frames.ts';

test('messages come out as they went in, however the pipe cuts them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map((message) => encodeFrame(message, 1_000_000)));
        const seen: unknown[] = [];
        const read = openFrameReader(1_000_000, (message) => seen.push(message));
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const next = at + cuts[turn % cuts.length]!;
          read(bytes.subarray(at, next));
          at = next;
        }
        assert.equal(JSON.stringify(seen), JSON.stringify(messages));
      },
    ),
    { numRuns: 200 },
  );
});

test('a frame that is too long is refused on both sides, before it is kept', () => {
  assert.throws(() => encodeFrame('x'.repeat(100), 50), RangeError);
  const read = openFrameReader(50, () => assert.fail('nothing is whole'));
  assert.throws(() => read(Buffer.from([0xff, 0xff, 0xff, 0xff])), RangeError);
});

test('a frame that is not JSON is refused', () => {
  const read = openFrameReader(50, () => assert.fail('nothing is whole'));
  assert.throws(
    () => read(Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('{')])),
    SyntaxError,
  );
});
