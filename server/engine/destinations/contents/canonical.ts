import type { ColumnType } from '../../model/models/column.ts';

/**
 * Returns one text for all notations that a store may use for a value. Instants are in UTC with six
 * digits, JSON has sorted keys and no blanks, and numbers are written by their value. Documented
 * changes of some destinations count as equal everywhere. NUL is removed, a number that is none is
 * null, and JSON with numbers beyond a double equals a JSON string with its text.
 */
export function canonicalValue(type: ColumnType, text: string | null): string | null {
  if (text === null) return null;
  switch (type) {
    case 'text':
      return text.replaceAll('\0', '');
    case 'json': {
      // A JSON line uses the same null for both.
      const json = canonicalJson(text);
      return json === 'null' ? null : json;
    }
    case 'uuid':
      return text.toLowerCase();
    case 'timestamp':
      return canonicalInstant(text);
    case 'date':
      return text.slice(0, 10);
    case 'decimal':
      return canonicalDecimal(text);
    case 'integer':
      return /^[+-]?\d+$/.test(text) ? BigInt(text).toString() : text;
    case 'float':
      return canonicalFloat(text);
    case 'boolean':
      return booleans[text.toLowerCase()] ?? text.toLowerCase();
  }
}

const booleans: Record<string, string> = { t: 'true', '1': 'true', f: 'false', '0': 'false' };
const instant =
  /^(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ?(?:Z|UTC|[+-]00(?::?00)?)?$/;

function canonicalInstant(text: string): string {
  const [, day, time, fraction = ''] = instant.exec(text) ?? [];
  return day === undefined ? text : `${day}T${time}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}

/** Returns the digits of a decimal number, without outer zeros. */
function canonicalDecimal(text: string): string {
  const [, sign = '', whole, fraction = ''] =
    /^([+-]?)0*(\d+)(?:\.(\d*?)0*)?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return text;
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${digits}` : digits;
}

function canonicalFloat(text: string): string | null {
  if (/^[+-]?(inf|infinity|nan)$/i.test(text)) return null;
  const value = text.trim() === '' ? NaN : Number(text);
  return Number.isNaN(value) ? text : numberText(value);
}

/** Stands for a number that JavaScript would round. */
class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Context = { source?: string };
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: Context) => unknown,
) => unknown;

// Only such texts can contain a number that JavaScript rounds, or that exceeds a double.
const long_number = /\d[\d.]{15}|\d[eE][+-]?\d{3}/;

/**
 * Numbers are compared as integers of 64 bits if possible, otherwise as doubles, which the least
 * exact destination stores.
 */
function exactNumber(source: string): unknown {
  if (/^-?\d{16,20}$/.test(source)) {
    const whole = BigInt(source);
    if (whole >= -(2n ** 63n) && whole < 2n ** 64n) return new ExactNumber(whole.toString());
  }
  const value = Number(source);
  const isBeyond = !Number.isFinite(value) || (value === 0 && /[1-9]/.test(source.split(/e/i)[0]!));
  return isBeyond ? new ExactNumber(decimalText(source)) : value;
}

/** Returns a decimal number as its digits without outer zeros, and its exponent. */
function decimalText(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  const shift = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length);
  return short === '' ? '0' : `${sign}${short}e${shift}`;
}

function parsed(text: string): unknown {
  if (!long_number.test(text)) return JSON.parse(text) as unknown;
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value,
  );
}

/**
 * Returns true if it contains a number that a double rounds, or more levels than some stores
 * accept. Some stores keep such JSON as text.
 */
function isBeyondStores(text: string): boolean {
  let isBeyond = false;
  if (!long_number.test(text)) return levelsOf(text) > levels_max;
  parseWithSource(text, (_key, value, { source }) => {
    if (typeof value === 'number' && source !== undefined)
      isBeyond ||= decimalText(source) !== decimalText(String(value));
    return value;
  });
  return isBeyond || levelsOf(text) > levels_max;
}

const levels_max = 400;

function levelsOf(text: string): number {
  let levels = 0;
  let deepest = 0;
  for (const character of text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (character === '{' || character === '[') deepest = Math.max(deepest, (levels += 1));
    else if (character === '}' || character === ']') levels -= 1;
  }
  return deepest;
}

function canonicalJson(text: string): string {
  try {
    const value = parsed(text);
    if (typeof value !== 'string' || !/^\s*[-\d{[]/.test(value)) return jsonText(value);
    return jsonText(isHeldAsText(value) ? parsed(value) : value);
  } catch {
    return text.replaceAll('\0', '');
  }
}

function isHeldAsText(text: string): boolean {
  try {
    return isBeyondStores(text);
  } catch {
    return false;
  }
}

function numberText(value: number): string {
  // String(-0) is 0, which is also the result of stores without a negative zero.
  return String(value).replace('e+', 'e');
}

function jsonText(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.includes('\0') ? value.replaceAll('\0', '') : value);
  if (typeof value === 'number') return numberText(value);
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [
    name.replaceAll('\0', ''),
    inner,
  ]);
  entries.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  const fields = entries.map(([name, inner]) => `${JSON.stringify(name)}:${jsonText(inner)}`);
  return `{${fields.join(',')}}`;
}

/**
 * Returns JSON text as the analytics store prints it except for the order of keys, or undefined if
 * it has a number that the store cannot read.
 */
export function printedJson(text: string): string | undefined {
  const canonical = canonicalJson(text);
  const isUnwrapped = /^\s*"/.test(text) && !canonical.startsWith('"');
  if (hasLargeInteger(isUnwrapped ? String(parsed(text)) : text)) return undefined;
  let isBeyond = false;
  const printed = canonical.replaceAll(
    /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e(-?\d+))?/g,
    (token, exponent?: string) => {
      if (exponent === undefined || (Number.isFinite(Number(token)) && Number(token) !== 0))
        return token;
      isBeyond ||= !exponent.startsWith('-');
      return '0';
    },
  );
  return isBeyond
    ? undefined
    : printed.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Returns true if JSON text has a whole number beyond 64 bits. */
function hasLargeInteger(text: string): boolean {
  if (!/\d{19}/.test(text)) return false;
  const outside = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return (outside.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [])
    .filter((number) => /^-?\d{19,}$/.test(number))
    .some((number) => BigInt(number) < -(2n ** 63n) || BigInt(number) >= 2n ** 64n);
}
