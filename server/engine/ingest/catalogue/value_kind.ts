import { withMarkedNumbers } from '../../model/models/readable_json.ts';

/**
 * The kinds of JSON values that the catalogue distinguishes:
 *
 * - `integer`: a number without a fraction or an exponent that a double keeps; `long_integer`: one
 *   beyond 2^53 within 64 bits.
 * - `float`: any other number within a double; `large_number`: any number beyond these.
 * - `timestamp`: a text such as 2026-11-29T20:00:00.5Z; `text`: any other text.
 */
export const value_kinds = [
  'null',
  'boolean',
  'integer',
  'long_integer',
  'float',
  'large_number',
  'timestamp',
  'text',
  'object',
  'array',
] as const;

export type ValueKind = (typeof value_kinds)[number];

// A number whose text ClickHouse's reader would shorten to an integer: 10.0, 1e3. Such documents
// are read with their numbers as texts.
const shortened = '[0-9]([.]0+|([.][0-9]+)?[eE][-+]?[0-9]+)[ \\\\t\\\\r\\\\n]*[,}\\\\]]';
// The beginning of a number within a document that was made readable.
const mark = '"\\\\u0001\\\\u0002\\\\u0001';
const mark_length = 19;
const instant =
  '^"(19|2[0-2])[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]' +
  '([.][0-9]{1,6})?(Z|[-+][01][0-9]:[0-5][0-9])"$';

/**
 * Returns ClickHouse text for the properties of a document: an array of pairs of name and JSON
 * value, whose kind `kindOf` returns.
 */
export function pairsOf(document: string, pairs_max: number): string {
  // One branch: with two that create the text, the store would compute it for every document.
  const readable =
    `if(match(${document}, '${shortened}') OR NOT isValidJSON(${document}), ` +
    `${withMarkedNumbers(document)}, ${document})`;
  return `arraySlice(JSONExtractKeysAndValuesRaw(${readable}), 1, ${pairs_max})`;
}

/** Returns ClickHouse text for the kind of a value from `pairsOf`. */
export function kindOf(value: string): string {
  const number =
    `if(startsWith(${value}, '${mark}'), ` +
    `substring(${value}, ${mark_length + 1}, length(${value}) - ${mark_length + 1}), ${value})`;
  const whole = `toInt64OrNull(${number})`;
  return (
    `multiIf(${value} = 'null', 'null', ${value} IN ('true', 'false'), 'boolean', ` +
    `startsWith(${value}, '{'), 'object', startsWith(${value}, '['), 'array', ` +
    `startsWith(${value}, '"') AND NOT startsWith(${value}, '${mark}'), ` +
    `if(match(${value}, '${instant}'), 'timestamp', 'text'), ` +
    `match(${number}, '^-?[0-9]{1,15}$'), 'integer', ` +
    `match(${number}, '^-?[0-9]+$'), multiIf(${whole} IS NULL, 'large_number', ` +
    `abs(${whole}) <= 9007199254740991, 'integer', 'long_integer'), ` +
    `isFinite(ifNull(toFloat64OrNull(${number}), inf)), 'float', 'large_number')`
  );
}
