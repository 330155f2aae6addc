import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
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
    assert.deepEqual(await unpackBody(Buffer.from(sent), undefined), wanted, sent);
});
