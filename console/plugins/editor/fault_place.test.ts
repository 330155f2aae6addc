import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placedFaults } from './fault_place.ts';
import { spanInText } from './span_in_text.ts';

test('a fault of a file is placed, without its place in the sentence', () => {
  const code = 'invalid_input' as const;
  const at = { attr: 'source', code, file: 'index.ts', line: 2, column: 13 };
  assert.deepEqual(
    placedFaults([
      { ...at, detail: 'index.ts, line 2, column 13: Unexpected ";"' },
      { ...at, detail: 'The package has no file ./a for this import.' },
      { attr: 'source', code, detail: 'The package has no code.' },
    ]),
    [
      { file: 'index.ts', line: 2, column: 13, message: 'Unexpected ";"' },
      {
        file: 'index.ts',
        line: 2,
        column: 13,
        message: 'The package has no file ./a for this import.',
      },
    ],
  );
});

test('the span is the word at the place, and never beyond the text', () => {
  const text = 'const a = 1;\n  wrong();\n';
  const wordAt = (line: number, column: number) => {
    const { from, to } = spanInText(text, { line, column });
    return text.slice(from, to);
  };
  assert.equal(wordAt(2, 3), 'wrong');
  assert.equal(wordAt(1, 9), '=');
  assert.deepEqual(spanInText(text, { line: 9, column: 9 }), { from: 24, to: 24 });
  assert.deepEqual(spanInText('', { line: 1, column: 1 }), { from: 0, to: 0 });
});
