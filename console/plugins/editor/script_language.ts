import { StreamLanguage } from '@codemirror/language';
import type { StreamParser, StringStream } from '@codemirror/language';

/** State of the parser: in code, in a comment, or in a template string. */
type Reading = { inside: 'code' | 'comment' | 'template'; depth: number };

const keywords = new Set(
  (
    'as async await break case catch class const continue default delete do else export extends ' +
    'finally for from function if import in instanceof interface let new of return static super ' +
    'switch this throw try type typeof var void while yield'
  ).split(' '),
);
const atoms = new Set(['true', 'false', 'null', 'undefined', 'NaN', 'Infinity']);

function readTemplate(stream: StringStream, reading: Reading): string {
  while (!stream.eol()) {
    const char = stream.next();
    if (char === '\\') stream.next();
    else if (char === '`') {
      reading.inside = 'code';
      break;
    }
  }
  return 'string';
}

function readComment(stream: StringStream, reading: Reading): string {
  if (stream.skipTo('*/')) {
    stream.match('*/');
    reading.inside = 'code';
  } else stream.skipToEnd();
  return 'comment';
}

function readCode(stream: StringStream, reading: Reading): string | null {
  if (stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match('/*')) {
    reading.inside = 'comment';
    return readComment(stream, reading);
  }
  if (stream.match('`')) {
    reading.inside = 'template';
    return readTemplate(stream, reading);
  }
  if (stream.match(/^(["'])(?:\\.|(?!\1).)*\1?/)) return 'string';
  if (stream.match(/^(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)n?/i)) return 'number';
  const word = stream.match(/^[\p{L}_$][\p{L}\p{N}_$]*/u) as RegExpMatchArray | null;
  if (word !== null) {
    if (keywords.has(word[0])) return 'keyword';
    return atoms.has(word[0]) ? 'atom' : 'variableName';
  }
  const char = stream.next();
  if (char === '{' || char === '(' || char === '[') reading.depth += 1;
  if (char === '}' || char === ')' || char === ']') reading.depth = Math.max(0, reading.depth - 1);
  return null;
}

/** Colours of TypeScript, JavaScript and JSON, line by line. */
const script_parser: StreamParser<Reading> = {
  name: 'script',
  startState: () => ({ inside: 'code', depth: 0 }),
  copyState: (reading) => ({ ...reading }),
  token: (stream, reading) => {
    if (reading.inside === 'comment') return readComment(stream, reading);
    if (reading.inside === 'template') return readTemplate(stream, reading);
    return stream.eatSpace() ? null : readCode(stream, reading);
  },
  indent: ({ depth }, after, { unit }) =>
    Math.max(0, /^\s*[)}\]]/.test(after) ? depth - 1 : depth) * unit,
  languageData: { commentTokens: { line: '//' }, indentOnInput: /^\s*[)}\]]$/ },
};

/** The language of the files of a plugin. */
export const script_language = StreamLanguage.define(script_parser);
