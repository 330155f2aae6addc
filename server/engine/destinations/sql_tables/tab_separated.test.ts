import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { fieldText, linesOf } from './tab_separated.ts';

test('a field is the text that ClickHouse escaped', () => {
  const cases: [string, string | null][] = [
    ['', ''],
    ['\\N', null],
    ['\\\\N', '\\N'],
    ['a\\tb\\nc\\rd\\0e\\bf\\fg', 'a\tb\nc\rd\0e\bf\fg'],
    ["it\\'s", "it's"],
    ['\\\\\\\\n', '\\\\n'],
  ];
  for (const [field, text] of cases) assert.equal(fieldText(field), text);
  const escaped = (text: string) =>
    text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n');
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('\\', 'n', 'N', 't', '\n', '\t', 'é', '😀') }),
      (text) => fieldText(escaped(text)) === text,
    ),
  );
});

test('lines come whole, whatever the pieces', async () => {
  const bytes = Buffer.from('é😀\t1\n\nlast\n');
  for (let size = 1; size <= bytes.length; size += 1) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    assert.deepEqual(await Array.fromAsync(linesOf(Readable.from(pieces))), ['é😀\t1', '', 'last']);
  }
  await assert.rejects(
    Array.fromAsync(linesOf(Readable.from([Buffer.from('a\nb')]))),
    /ended in the middle/,
  );
});
