/** A place in a text; line and column count from 1. */
export type JsonPlace = { offset: number; line: number; column: number };

/** An invalid value or name: the index of its item in a list, and its place. */
export type StrangePart = {
  kind: 'number' | 'text';
  written: string;
  item: number;
  path(): string;
};

/** A search through a text for invalid JSON values. */
export type JsonScan = {
  /**
   * Reads the text once: yields `NaN` and the like, and the texts with U+FFFD if `is_text_broken`.
   * Ends with the text, or where it stops being JSON.
   */
  read(is_text_broken: boolean): Generator<StrangePart>;
  /** The place at which the text stops being JSON, after reading; undefined for JSON. */
  readonly fault: JsonPlace | undefined;
  /** Returns the text with null in place of such numbers. */
  withNulls(): string;
};

type Wanted = 'value' | 'value or end' | 'name' | 'name or end' | 'end';
const blank = /[ \t\n\r]*/y;
const scalar =
  /(?:-?Infinity|NaN)|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
/** Most names in the reported path of a value. */
const path_length_max = 20;

/**
 * Finds the place at which a text stops being JSON: its end if it ends too early, undefined for
 * JSON. `JSON.parse` reports the place of some faults only. Its time is proportional to the length
 * of the text, whatever the content.
 */
export function findJsonFault(text: string): JsonPlace | undefined {
  const reader = openReader(text);
  for (let part = nextPart(reader); part !== undefined; part = nextPart(reader))
    if (part.kind !== 'text') return placeOf(text, part.from);
  return undefined;
}

/**
 * Opens the scan. Its time and memory are proportional to the length of the text, whatever the
 * content.
 */
export function openJsonScan(text: string): JsonScan {
  const strange: { from: number; to: number }[] = [];
  let fault: JsonPlace | undefined;
  return {
    *read(is_text_broken) {
      const reader = openReader(text);
      for (let part = nextPart(reader); part !== undefined; part = nextPart(reader)) {
        const { kind, from, to } = part;
        const written = text.slice(from, to);
        if (kind === 'fault') fault = placeOf(text, from);
        else if (kind === 'number') strange.push({ from, to });
        else if (!is_text_broken || !written.includes('\uFFFD')) continue;
        if (kind !== 'fault') yield { kind, written, ...placeInside(reader.stack) };
      }
    },
    get fault() {
      return fault;
    },
    withNulls: () => {
      let before = 0;
      const parts = strange.map(({ from, to }) => {
        const part = `${text.slice(before, from)}null`;
        before = to;
        return part;
      });
      return parts.join('') + text.slice(before);
    },
  };
}

type Part = { kind: 'number' | 'text' | 'fault'; from: number; to: number };

/** Position of the reader in a text. */
type Reader = {
  text: string;
  at: number;
  wanted: Wanted;
  /** The index of the current item of a list, or the current name of an object. */
  stack: (number | string)[];
};

function openReader(text: string): Reader {
  return { text, at: 0, wanted: 'value', stack: [] };
}

/**
 * Returns the next text or invalid number, or the fault that ends the reading; undefined at the
 * end.
 */
function nextPart(reader: Reader): Part | undefined {
  const { text } = reader;
  while (reader.at <= text.length) {
    skipBlanks(reader);
    const { at, wanted, stack } = reader;
    if (at === text.length && wanted === 'end' && stack.length === 0) return undefined;
    const isName = wanted === 'name' || wanted === 'name or end';
    const read = wanted === 'end' ? readEnd : isName ? readName : readValue;
    const part = read(reader);
    if (part !== undefined) return part;
  }
  return undefined;
}

function readValue(reader: Reader): Part | undefined {
  const { text, at: from } = reader;
  const first = text[from];
  if (first === '{') return open(reader, '', 'name or end');
  if (first === '[') return open(reader, 0, 'value or end');
  if (first === ']' && reader.wanted === 'value or end') return close(reader);
  reader.wanted = 'end';
  if (first === '"') return readText(reader);
  scalar.lastIndex = from;
  if (!scalar.test(text)) return faultAt(reader, from);
  reader.at = scalar.lastIndex;
  const isStrange = /[Ny]/.test(text[reader.at - 1]!);
  return isStrange ? { kind: 'number', from, to: reader.at } : undefined;
}

function readName(reader: Reader): Part | undefined {
  const { text, stack } = reader;
  if (text[reader.at] === '}' && reader.wanted === 'name or end') return close(reader);
  if (text[reader.at] !== '"') return faultAt(reader, reader.at);
  const part = readText(reader);
  if (part.kind === 'fault') return part;
  stack[stack.length - 1] = text.slice(part.from + 1, part.to - 1);
  skipBlanks(reader);
  if (text[reader.at] !== ':') return faultAt(reader, reader.at);
  reader.at += 1;
  reader.wanted = 'value';
  return part;
}

/** Reads the text after a value. */
function readEnd(reader: Reader): Part | undefined {
  const { text, at, stack } = reader;
  const inside = stack.at(-1);
  if (inside === undefined) return faultAt(reader, at);
  const is_list = typeof inside === 'number';
  if (text[at] === (is_list ? ']' : '}')) return close(reader);
  if (text[at] !== ',') return faultAt(reader, at);
  if (is_list) stack[stack.length - 1] = inside + 1;
  reader.wanted = is_list ? 'value' : 'name';
  reader.at += 1;
  return undefined;
}

function readText(reader: Reader): Part {
  const { text, at: from } = reader;
  const end = endOfText(text, from);
  // An unterminated text is reported by its beginning.
  if (text[end] !== '"') return faultAt(reader, end === text.length ? from : end);
  reader.at = end + 1;
  return { kind: 'text', from, to: reader.at };
}

function open(reader: Reader, inside: number | string, wanted: Wanted): undefined {
  reader.stack.push(inside);
  reader.wanted = wanted;
  reader.at += 1;
}

function close(reader: Reader): undefined {
  reader.stack.pop();
  reader.wanted = 'end';
  reader.at += 1;
}

/** Nothing is read after a fault. */
function faultAt(reader: Reader, from: number): Part {
  reader.at = reader.text.length + 1;
  return { kind: 'fault', from, to: from };
}

function skipBlanks(reader: Reader): void {
  blank.lastIndex = reader.at;
  blank.test(reader.text);
  reader.at = blank.lastIndex;
}

/**
 * Returns the index of the closing quote of the text that begins here, or of an invalid character.
 */
function endOfText(text: string, from: number): number {
  // eslint-disable-next-line no-control-regex
  const special = /["\\\u0000-\u001f]/g;
  special.lastIndex = from + 1;
  for (let found = special.exec(text); found !== null; found = special.exec(text)) {
    if (found[0] !== '\\') return found.index;
    escape.lastIndex = found.index;
    if (!escape.test(text)) return found.index;
    special.lastIndex = escape.lastIndex;
  }
  return text.length;
}

/** Items are in a list, or in a list of an object; other places belong to the first item. */
function placeInside(stack: readonly (number | string)[]): Pick<StrangePart, 'item' | 'path'> {
  const depth = stack.slice(0, 2).findIndex((one) => typeof one === 'number');
  return {
    item: depth === -1 ? 0 : Number(stack[depth]),
    path: () => stack.slice(depth + 1, depth + 1 + path_length_max).join('.'),
  };
}

function placeOf(text: string, at: number): JsonPlace {
  const before = text.slice(0, at);
  const line_start = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let end = before.indexOf('\n'); end !== -1; end = before.indexOf('\n', end + 1)) line += 1;
  return { offset: at, line, column: at - line_start + 1 };
}
