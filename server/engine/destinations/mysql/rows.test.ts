import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { hasFormFeed, lineChunks, lineCount } from './rows.ts';

test('an escaped form feed is told from a backslash before an f', () => {
  const cases: [string, boolean][] = [
    ['a\\fb', true],
    ['\\\\f', false],
    ['\\\\\\f', true],
    ['C:\\\\files\t\\\\\\\\f', false],
    ['\\\\f then \\f', true],
    ['f\\n', false],
  ];
  for (const [text, wanted] of cases) assert.equal(hasFormFeed(Buffer.from(text)), wanted, text);
});

test('chunks have whole lines, whatever the pieces', async () => {
  const text = 'one\ntwo\n\nthree is longer\nfour\n';
  for (let size = 1; size <= text.length; size += 1)
    for (const bytes of [1, 6, 100]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        Buffer.from(text.slice(index * size, (index + 1) * size)),
      );
      const chunks = await Array.fromAsync(lineChunks(Readable.from(pieces), bytes));
      assert.equal(Buffer.concat(chunks).toString(), text);
      assert.ok(chunks.every((chunk) => chunk.toString().endsWith('\n')));
      assert.equal(
        chunks.reduce((lines, chunk) => lines + lineCount(chunk), 0),
        5,
      );
    }
});
