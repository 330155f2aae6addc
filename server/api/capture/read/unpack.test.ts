import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openRoom } from '../../../platform/http/limits/room.ts';
import { unpackBody } from './unpack.ts';

test('base64 is unpacked, and a word that only looks like it stays', async () => {
  const event = Buffer.from('{"event":"a"}');
  // A pair of surrogates, each written by itself: no UTF-8, and clients send it.
  const halves = Buffer.from([0x7b, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, 0x7d]);
  const cases: [string, Buffer][] = [
    [event.toString('base64'), event],
    [gzipSync(event).toString('base64'), event],
    [halves.toString('base64'), halves],
    ['garbage', Buffer.from('garbage')],
  ];
  for (const [sent, wanted] of cases)
    assert.deepEqual(await unpackBody(Buffer.from(sent), undefined, () => {}), wanted, sent);
});

test('unpacking reserves memory before the whole is there, in every layer', async () => {
  const mebibyte = 1024 * 1024;
  const packed = gzipSync(Buffer.alloc(8 * mebibyte, ' '));
  for (const sent of [packed, gzipSync(packed), Buffer.from(packed.toString('base64'))]) {
    const heard: number[] = [];
    const place = openRoom(8 * mebibyte, () => new Error('full')).enter('a');
    const hold = (bytes: number) => {
      heard.push(bytes);
      place.hold(bytes);
    };
    await assert.rejects(unpackBody(sent, undefined, hold));
    const [last, before] = [heard.at(-1)!, heard.at(-2)!];
    assert.ok(before <= 4 * mebibyte && last > 4 * mebibyte, String(heard.slice(-2)));
    assert.ok(last < 4.2 * mebibyte, String(last));
  }
});
