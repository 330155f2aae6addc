import { countValues } from './count_values.ts';

/**
 * Largest person, in bytes of its properties as JSON text. Every event carries a copy, so that what
 * a person may hold is also what each of its rows may cost.
 */
export const person_bytes_max = 512 * 1024;
/**
 * Most names and values in a person's properties, at any depth: each batch reads and writes persons
 * as a whole, and a hundred thousand keys would take a tenth of a second.
 */
export const values_max = 10_000;

/** May a person have these properties? The text is valid JSON. */
export function fitsPerson(text: string): boolean {
  // Each value takes two characters at least.
  if (text.length <= values_max) return true;
  return Buffer.byteLength(text) <= person_bytes_max && countValues(text) <= values_max;
}
