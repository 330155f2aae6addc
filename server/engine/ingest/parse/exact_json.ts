/** A JSON object whose numbers may be `JSON.rawJSON` values, so that it prints as it was read. */
export type JsonObject = { [key: string]: unknown };

/**
 * Most levels of nested arrays and objects; PostgreSQL, ClickHouse and JSON readers at destinations
 * accept this many.
 */
export const nesting_max = 100;

// Matches numbers that JavaScript may print differently from their source: with an exponent, a
// final zero after the point, digits after six zeros after the point, sixteen digits, or minus
// zero. Any other text uses the plain parser without callbacks. The pattern searches for the end of
// a number and matches backwards from there. Text has few such characters, and a match at each
// digit would take quadratic time on a long run.
const unusualNumber = /[,}\]](?<=(?:\d[eE][+-]?\d+|\.\d*0|\.0{6}\d+|[:,[\s]-0|[\d.]{16})\s*.)/;
const surrogate = /\\u[dD][89a-fA-F]/;

type RawJson = { rawJSON(text: string): unknown; isRawJSON(value: unknown): boolean };
const raw = JSON as typeof JSON & RawJson;

/**
 * Parses JSON text so that `JSON.stringify` of the result keeps the text of every number as it was
 * sent: `1.0`, `1e5`, `-0`, digits beyond those of a double. Replaces lone surrogates by U+FFFD;
 * the last value of a repeated key wins. Throws a SyntaxError for text that is not JSON.
 */
export function parseExact(text: string): unknown {
  const parsed: unknown = unusualNumber.test(text) ? parseWithNumbers(text) : JSON.parse(text);
  // A text without an escape is found out in a quarter of the pattern's time.
  return text.includes('\\u') && surrogate.test(text) ? wellFormed(parsed) : parsed;
}

/** Returns true for a JSON object: not null, not an array, not a number kept as text. */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !raw.isRawJSON(value)
  );
}

/**
 * Returns true for a number that is kept as text, because JavaScript would print it differently.
 */
export function isNumberText(value: unknown): boolean {
  return raw.isRawJSON(value);
}

/**
 * Returns a number in its shortest form without an exponent, so that `17`, `17.0` and `1.7e1` are
 * equal; unchanged if that would lose digits or add an exponent.
 */
export function shortNumber(text: string): string {
  const digits = text
    .replace(/[eE].*$/, '')
    .replaceAll(/\D/g, '')
    .replace(/^0+/, '');
  const short = String(Number(text));
  return digits.length <= 15 && /^-?\d+(\.\d+)?$/.test(short) ? short : text;
}

/**
 * Returns true if arrays and objects are nested more than `nesting_max` deep. Calls itself at most
 * that often, so no depth can exhaust the stack.
 */
export function isTooDeep(value: unknown, levels = nesting_max): boolean {
  if (!isNested(value)) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, levels - 1));
  for (const key in value) if (isTooDeep((value as JsonObject)[key], levels - 1)) return true;
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !raw.isRawJSON(value);
}

function parseWithNumbers(text: string): unknown {
  const keep = (_key: string, value: unknown, context?: { source?: string }) => {
    if (typeof value !== 'number') return value;
    const source = context?.source;
    return source === undefined || String(value) === source ? value : raw.rawJSON(source);
  };
  return JSON.parse(text, keep);
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]),
  );
}
