import { Fault } from '../fault.ts';
import type { Span } from '../query_error.ts';

/**
 * One token. `word` is an unquoted name or keyword, `quoted` a name in backticks or double quotes,
 * `text` a literal in single quotes, `sign` an operator or punctuation. `value` is the word as
 * written, or the content of a quoted name or text with its escapes resolved.
 */
export type Token = Span & {
  kind: 'word' | 'quoted' | 'text' | 'number' | 'sign' | 'end';
  value: string;
};

/** Most UTF-16 units of a query's text. */
const text_length_max = 65_536;

const space = /[ \t\r\n]+|--[^\n]*/y;
const word = /[A-Za-z_$][A-Za-z0-9_$]*/y;
const number = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const wholeNumber = /\d+/y;
const sign = /->|::|<=|>=|<>|!=|==|\|\||\?\?|[-+*/%=<>(),.[\]:;?]/y;
const plain_run: Record<string, RegExp> = {
  "'": /[^'\\\0]+/y,
  '"': /[^"\\\0]+/y,
  '`': /[^`\\\0]+/y,
};
const escapes: Record<string, string> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
};

// Signs of other languages, and their replacement here.
const sign_advice: Record<string, string | undefined> = {
  '{':
    'Placeholders in braces are not part of the language: a run reads the rows of its own ' +
    'interval by itself, so remove filters of time; write other values themselves.',
  '#': 'A comment begins with --.',
  '~': 'Operators with ~ are not part of the language: write match(text, pattern).',
  '&': 'Write AND for two conditions, bitAnd(a, b) for bits.',
};

/**
 * Returns the tokens of a text, with an `end` last. Throws a `Fault` for text that is too long,
 * ill-formed Unicode, and unsupported signs, escapes and literals.
 */
export function tokenize(text: string): Token[] {
  if (text.length > text_length_max)
    throw new Fault(
      `A query may have ${text_length_max} characters, this one has ${text.length}: shorten it.`,
      { start: 0, end: 0 },
    );
  if (!text.isWellFormed())
    throw new Fault(
      'The text is not valid Unicode: it holds half of a surrogate pair. Remove it.',
      { start: 0, end: 0 },
    );
  const tokens: Token[] = [];
  let position = 0;
  while ((position = skipSpace(text, position)) < text.length) {
    const token = readToken(text, position, tokens.at(-1));
    tokens.push(token);
    position = token.end;
  }
  tokens.push({ kind: 'end', value: '', start: text.length, end: text.length });
  return tokens;
}

function match(pattern: RegExp, text: string, position: number): string | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0];
}

function skipSpace(text: string, from: number): number {
  let position = from;
  for (;;) {
    const skipped = match(space, text, position);
    if (skipped !== undefined) position += skipped.length;
    else if (text.startsWith('/*', position)) {
      const close = text.indexOf('*/', position + 2);
      if (close < 0)
        throw new Fault('This comment has no end: close it with */.', {
          start: position,
          end: position + 2,
        });
      position = close + 2;
    } else return position;
  }
}

function readToken(text: string, start: number, before: Token | undefined): Token {
  const first = text[start]!;
  if (first === "'") return readQuoted(text, start, 'text');
  if (first === '"' || first === '`') return readQuoted(text, start, 'quoted');
  // `pair.1.2` reads elements of tuples: after a dot, there is no fraction.
  const isElement = before?.kind === 'sign' && before.value === '.' && before.end === start;
  const digits = match(isElement ? wholeNumber : number, text, start);
  if (digits !== undefined && !(first === '.' && isValueEnd(before, start)))
    return readNumber(text, start, digits);
  const name = match(word, text, start);
  if (name !== undefined) return { kind: 'word', value: name, start, end: start + name.length };
  const found = match(sign, text, start);
  if (found !== undefined) return { kind: 'sign', value: found, start, end: start + found.length };
  throw unknownSign(text, start);
}

/** Returns true if a dot at `start` belongs to the value before it. */
function isValueEnd(before: Token | undefined, start: number): boolean {
  return (
    before !== undefined &&
    before.end === start &&
    (before.kind !== 'sign' || before.value === ')' || before.value === ']')
  );
}

function readNumber(text: string, start: number, digits: string): Token {
  const end = start + digits.length;
  const tail = match(word, text, end);
  if (tail !== undefined)
    throw new Fault(
      'A number ends where letters begin: put a space between them, or quote the name in ' +
        'backticks.',
      { start, end: end + tail.length },
    );
  return { kind: 'number', value: digits, start, end };
}

function readQuoted(text: string, start: number, kind: 'text' | 'quoted'): Token {
  const quote = text[start]!;
  const what = kind === 'text' ? 'text' : 'name';
  let value = '';
  let position = start + 1;
  for (;;) {
    const run = match(plain_run[quote]!, text, position) ?? '';
    value += run;
    position += run.length;
    const stop = text[position];
    if (stop === undefined)
      throw new Fault(`This ${what} has no end: close it with ${quote}.`, {
        start,
        end: start + 1,
      });
    if (stop === '\0')
      throw new Fault(`A ${what} cannot hold the character NUL: remove it.`, {
        start: position,
        end: position + 1,
      });
    if (stop === '\\') {
      value += readEscape(text, position);
      position += 2;
    } else if (text[position + 1] === quote) {
      value += quote;
      position += 2;
    } else return finishQuoted({ kind, value, start, end: position + 1 });
  }
}

function finishQuoted(token: Token): Token {
  if (token.kind === 'quoted' && token.value === '')
    throw new Fault('A quoted name needs at least one character.', token);
  return token;
}

function readEscape(text: string, position: number): string {
  const escaped = escapes[text[position + 1] ?? ''];
  if (escaped !== undefined) return escaped;
  throw new Fault(
    'There is no such escape: write \\\\ for a backslash, or one of \\\' \\" \\` \\n \\t \\r ' +
      '\\b \\f.',
    {
      start: position,
      end: Math.min(position + 2, text.length),
    },
  );
}

function unknownSign(text: string, start: number): Fault {
  const character = String.fromCodePoint(text.codePointAt(start)!);
  const span = { start, end: start + character.length };
  if (/[‘’“”`´]/.test(character))
    return new Fault("This is a typographic quote: write text in ' and names in `.", span);
  const known = sign_advice[character];
  if (known !== undefined) return new Fault(known, span);
  if (/[\p{L}\p{N}]/u.test(character))
    return new Fault(
      'Put names with letters beyond ASCII in backticks, text in single quotes.',
      span,
    );
  if (/[\s\p{Z}\p{C}]/u.test(character))
    return new Fault(
      'There is an invisible character here: only spaces, tabs and line breaks separate words. ' +
        'Remove it.',
      span,
    );
  return new Fault(
    'This character is not part of the language: remove it, or put text in single quotes.',
    span,
  );
}
