/** Largest person, in bytes of its properties as JSON text. Every event carries a copy, so that what a person may hold is also what each of its rows may cost. */
export const person_bytes_max = 512 * 1024;
/** Most names and values in a person's properties, at any depth: each batch reads and writes persons as a whole, and a hundred thousand keys would take a tenth of a second. */
export const values_max = 10_000;

const [quote, backslash, comma, open_brace, open_bracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b];

/** May a person have these properties? The text is valid JSON. */
export function fitsPerson(text: string): boolean {
  // Each value takes two characters at least.
  if (text.length <= values_max) return true;
  return Buffer.byteLength(text) <= person_bytes_max && countValues(text) <= values_max;
}

function countValues(text: string): number {
  let values = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at += 1;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === comma || code === open_brace || code === open_bracket) values += 1;
  }
  return values;
}
