import assert from 'node:assert/strict';
import { test } from 'node:test';
import { script_language } from './script_language.ts';

/** The words of the code that have one of these colours. */
function wordsOf(code: string, ...wanted: string[]): string[] {
  const words: string[] = [];
  script_language.parser.parse(code).iterate({
    enter: ({ name, from, to }) => {
      if (wanted.includes(name)) words.push(code.slice(from, to));
    },
  });
  return words;
}

test('keywords, texts, numbers and comments are told apart, over lines too', () => {
  const code = [
    'const a = 12.5; // one',
    "await f('it\\'s', \"two\", `first",
    'second ${a}`); /* three',
    'four */ return of_course;',
  ].join('\n');
  assert.deepEqual(wordsOf(code, 'keyword'), ['const', 'await', 'return']);
  assert.deepEqual(wordsOf(code, 'number'), ['12.5']);
  assert.deepEqual(wordsOf(code, 'comment'), ['// one', '/* three', 'four */']);
  assert.deepEqual(wordsOf(code, 'string'), ["'it\\'s'", '"two"', '`first', 'second ${a}`']);
});
