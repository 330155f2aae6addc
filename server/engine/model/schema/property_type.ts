/**
 * The types that a property can have as a column. Each accepts exactly the JSON values that it
 * preserves:
 *
 * - `text`: strings.
 * - `integer`: numbers without a fraction, within 64 bits.
 * - `float`: numbers that a double reproduces digit by digit; neither 9007199254740993 nor 1e400.
 * - `boolean`: true and false.
 * - `timestamp`: strings such as 2026-11-29T20:00:00.5Z, with `Z` or an offset, of 1900 to 2299 and
 *   with microseconds at most. Only a person can create a column of dates.
 * - `json`: every value.
 *
 * No type accepts null, so that null and missing stay apart.
 */
export const property_types = ['text', 'integer', 'float', 'boolean', 'timestamp', 'json'] as const;

/** One of them. */
export type PropertyType = (typeof property_types)[number];

const wider: Record<PropertyType, readonly PropertyType[]> = {
  text: ['json'],
  integer: ['float', 'json'],
  float: ['json'],
  boolean: ['json'],
  timestamp: ['text', 'json'],
  json: [],
};

/**
 * Returns true if `to` is the wider of two types. Integers beyond 2^53 are the exception: a `float`
 * column leaves them to the rest column.
 */
export function widens(from: PropertyType, to: PropertyType): boolean {
  return wider[from].includes(to);
}
