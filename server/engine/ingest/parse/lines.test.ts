import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLines } from './lines.ts';

async function read(chunks: (string | Buffer)[], bytesMax?: number) {
  async function* source() {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const lines = [];
  for await (const list of readLines(source(), bytesMax)) lines.push(...list);
  return lines.map((line) => [line.number, line.text ?? line.problem]);
}

test('lines are the same however the bytes are cut', async () => {
  const text = '\uFEFF{"a":"é"}\r\n\n  \n{"b":"😀"}\nlast';
  const expected = [
    [1, '{"a":"é"}\r'],
    [4, '{"b":"😀"}'],
    [5, 'last'],
  ];
  const bytes = Buffer.from(text);
  assert.deepEqual(await read([text]), expected);
  assert.deepEqual(await read([...bytes].map((byte) => Buffer.from([byte]))), expected);
  for (let cut = 0; cut <= bytes.length; cut += 1)
    assert.deepEqual(await read([bytes.subarray(0, cut), bytes.subarray(cut)]), expected);
  assert.deepEqual(await read([]), []);
  assert.deepEqual(await read(['\n\n']), []);
});

test('a line that is too long or not UTF-8 is named and the next ones are read', async () => {
  const bad = Buffer.concat([
    Buffer.from('ok\n'),
    Buffer.from([0xff, 0x0a]),
    Buffer.from('123456789\nnext\n123456'),
  ]);
  const expected = [
    [1, 'ok'],
    [2, 'not_utf8'],
    [3, 'too_long'],
    [4, 'next'],
    [5, 'too_long'],
  ];
  assert.deepEqual(await read([bad], 5), expected);
  assert.deepEqual(
    await read(
      [...bad].map((byte) => Buffer.from([byte])),
      5,
    ),
    expected,
  );
});

test('memory is bounded by one line, not by the stream', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  async function* endless() {
    for (let index = 0; index < 300; index += 1) yield chunk;
  }
  const before = process.memoryUsage.rss();
  let highest = 0;
  const lines = [];
  for await (const list of readLines(endless())) lines.push(...list);
  highest = process.memoryUsage.rss();
  assert.deepEqual(lines, [{ number: 1, problem: 'too_long' }]);
  assert.ok(highest - before < 100e6, `${highest - before} bytes more`);
});
