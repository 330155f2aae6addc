import { countValues } from './count_values.ts';

/**
 * Largest person, in bytes of its properties as JSON text. Every event carries a copy, so this size
 * also bounds the cost of each of its rows.
 */
export const person_bytes_max = 512 * 1024;
/**
 * Most names and values in a person's properties, at any depth. Each batch reads and writes persons
 * as a whole, and a hundred thousand keys would take a tenth of a second.
 */
export const values_max = 10_000;

/** Returns true if a person may have these properties. The text is valid JSON. */
export function fitsPerson(text: string): boolean {
  // Each value has at least two characters.
  if (text.length <= values_max) return true;
  return Buffer.byteLength(text) <= person_bytes_max && countValues(text) <= values_max;
}
