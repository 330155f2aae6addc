import { finish, hashSpan, hashText, hashWord } from './hash_bytes.ts';
import type { Lanes, Words } from './hash_bytes.ts';

/**
 * The text to hash: `field` is in a line of tab-separated text, `plain` in separate bytes, and
 * `canonical` was printed by us. In the first two, the caller handles JSON that may have another
 * notation. A byte that JSON never contains must follow each.
 */
type JsonForm = 'field' | 'plain' | 'canonical';

const [quote, backslash, comma, colon, minus, point] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d, 0x2e];
const [open_brace, close_brace, open_bracket, close_bracket] = [0x7b, 0x7d, 0x5b, 0x5d];
const [zero, nine] = [0x30, 0x39];
const object_tag = 0x6f626a;
const array_tag = 0x617272;
const string_tag = 0x737472;
const scalar_tag = 0x73636c;
const entry_tag = 0x656e74;

/** A double holds this many digits exactly, and prints them unchanged. */
const digits_max = 15;
/** JavaScript prints smaller numbers with an exponent. */
const zeros_max = 5;
/** The caller handles larger objects and deeper values. */
const keys_max = 64;
const levels_max = { field: 50, plain: 50, canonical: 2_000 };

const none = -1;

/**
 * Hashes JSON text whose first byte is at `at` into the lanes, and returns the position after it.
 * The order of the keys of an object and blanks between tokens do not matter. Returns -1 with an
 * undefined hash if the text is no JSON, or may have another notation: with optional escapes,
 * numbers in another form, or a repeated key.
 */
export function hashJson(lanes: Lanes, words: Words, at: number, form: JsonForm): number {
  const first = words.bytes[at];
  // A scalar is as rare as a leading blank.
  if (form !== 'canonical' && first !== open_brace && first !== open_bracket) return none;
  keys_used = 0;
  return hashValue(lanes, words, at, form, levels_max[form]);
}

/** The hashes of the keys of all open objects, to find repeated ones. */
const keys = new Int32Array(keys_max * (levels_max.field + 1));
let keys_used = 0;

function hashValue(lanes: Lanes, words: Words, at: number, form: JsonForm, levels: number): number {
  const { bytes } = words;
  switch (bytes[at]) {
    case quote:
      hashWord(lanes, string_tag);
      return hashString(lanes, words, at + 1, form);
    case open_brace:
      return levels === 0 ? none : hashObject(lanes, words, at + 1, form, levels - 1);
    case open_bracket:
      return levels === 0 ? none : hashArray(lanes, words, at + 1, form, levels - 1);
    default: {
      const end = scalarEnd(bytes, at, form);
      if (end === none) return none;
      hashWord(lanes, scalar_tag);
      hashSpan(lanes, words, at, end);
      return end;
    }
  }
}

/** The sum of its entries, each hashed as its key and then its value. */
function hashObject(
  lanes: Lanes,
  words: Words,
  from: number,
  form: JsonForm,
  levels: number,
): number {
  const { bytes } = words;
  const [before, beside] = [lanes[0]!, lanes[1]!];
  const keys_before = keys_used;
  let sum = 0;
  let other = 0;
  let bits = 0;
  let at = blanksEnd(bytes, from);
  if (bytes[at] !== close_brace)
    for (;;) {
      if (bytes[at] !== quote) return none;
      lanes[0] = lanes[1] = entry_tag;
      at = hashString(lanes, words, at + 1, form);
      if (at === none) return none;
      if (form !== 'canonical') {
        // Most keys already differ by five bits of their hashes.
        const bit = 1 << (lanes[0] & 31);
        if ((bits & bit) !== 0 && isThere(keys_before, lanes[0])) return none;
        if (keys_used - keys_before === keys_max) return none;
        bits |= bit;
        keys[keys_used] = lanes[0]!;
        keys_used += 1;
      }
      at = blanksEnd(bytes, at);
      if (bytes[at] !== colon) return none;
      at = hashValue(lanes, words, blanksEnd(bytes, at + 1), form, levels);
      if (at === none) return none;
      sum = (sum + finish(lanes[0], lanes[1])) | 0;
      other = (other + finish(lanes[1] ^ entry_tag, lanes[0])) | 0;
      at = blanksEnd(bytes, at);
      if (bytes[at] === close_brace) break;
      if (bytes[at] !== comma) return none;
      at = blanksEnd(bytes, at + 1);
    }
  keys_used = keys_before;
  lanes[0] = before;
  lanes[1] = beside;
  hashWord(lanes, object_tag);
  hashWord(lanes, sum);
  hashWord(lanes, other);
  return at + 1;
}

function hashArray(
  lanes: Lanes,
  words: Words,
  from: number,
  form: JsonForm,
  levels: number,
): number {
  const { bytes } = words;
  let count = 0;
  hashWord(lanes, array_tag);
  let at = blanksEnd(bytes, from);
  if (bytes[at] !== close_bracket)
    for (;;) {
      at = hashValue(lanes, words, at, form, levels);
      if (at === none) return none;
      count += 1;
      at = blanksEnd(bytes, at);
      if (bytes[at] === close_bracket) break;
      if (bytes[at] !== comma) return none;
      at = blanksEnd(bytes, at + 1);
    }
  hashWord(lanes, count);
  return at + 1;
}

/** Hashes a string in its printed form; returns the position after its last quote. */
function hashString(lanes: Lanes, words: Words, from: number, form: JsonForm): number {
  const one = lanes[0]!;
  const other = lanes[1]!;
  const end = hashText(lanes, words, from, true);
  if (end !== none) return words.bytes[end] === quote ? end + 1 : none;
  lanes[0] = one;
  lanes[1] = other;
  return hashEscaped(lanes, words, from, form);
}

function hashEscaped(lanes: Lanes, words: Words, from: number, form: JsonForm): number {
  const { bytes } = words;
  let at = from;
  for (;;) {
    const byte = bytes[at]!;
    if (byte === quote) break;
    // Also true after the last byte.
    if (!(byte >= 0x20)) return none;
    if (byte === backslash) {
      if (form === 'field' || (form === 'plain' && !isShort(bytes[at + 1]!))) return none;
      at += 2;
    } else at += 1;
  }
  hashSpan(lanes, words, from, at);
  return at + 1;
}

/** Returns true for an escape that every writer uses: of quote, backslash, or b, f, n, r, t. */
function isShort(byte: number): boolean {
  return (
    byte === quote ||
    byte === backslash ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  );
}

/** Returns true if the object whose keys begin at `from` has a key with this hash. */
function isThere(from: number, hash: number): boolean {
  for (let at = from; at < keys_used; at += 1) if (keys[at] === hash) return true;
  return false;
}

function blanksEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20) at += 1;
  return at;
}

/** Returns the position after a number, true, false or null. */
function scalarEnd(bytes: Buffer, from: number, form: JsonForm): number {
  switch (bytes[from]) {
    case 0x74:
      return isWord(bytes, from, 0x72, 0x75, 0x65) ? from + 4 : none;
    case 0x6e:
      return isWord(bytes, from, 0x75, 0x6c, 0x6c) ? from + 4 : none;
    case 0x66:
      return isWord(bytes, from, 0x61, 0x6c, 0x73) && bytes[from + 4] === 0x65 ? from + 5 : none;
    default:
      return form === 'canonical' ? printedNumberEnd(bytes, from) : plainNumberEnd(bytes, from);
  }
}

function isWord(bytes: Buffer, at: number, second: number, third: number, fourth: number) {
  return bytes[at + 1] === second && bytes[at + 2] === third && bytes[at + 3] === fourth;
}

function digitsEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at]! >= zero && bytes[at]! <= nine) at += 1;
  return at;
}

function printedNumberEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at]!;
    const isPart =
      (byte >= zero && byte <= nine) || byte === minus || byte === point || byte === 0x65;
    if (!isPart) return at === from ? none : at;
    at += 1;
  }
}

/** Returns the position after a number that JavaScript prints unchanged, or -1 for another one. */
function plainNumberEnd(bytes: Buffer, from: number): number {
  const isNegative = bytes[from] === minus;
  const whole = isNegative ? from + 1 : from;
  const end = digitsEnd(bytes, whole);
  const isZero = bytes[whole] === zero;
  if (end === whole || (isZero && end > whole + 1)) return none;
  const next = bytes[end]! | 0x20;
  if (bytes[end] !== point)
    return end - whole > digits_max || next === 0x65 || (isZero && isNegative) ? none : end;
  const fraction = end + 1;
  const last = digitsEnd(bytes, fraction);
  if (last === fraction || last - whole - 1 > digits_max || bytes[last - 1] === zero) return none;
  if ((bytes[last]! | 0x20) === 0x65) return none;
  if (!isZero) return last;
  let at = fraction;
  while (bytes[at] === zero) at += 1;
  return at - fraction > zeros_max ? none : last;
}
