import { Type } from 'typebox';

// Written as ranges, so that every reader of the OpenAPI document understands it: control
// characters, line ends and the marks that change the direction of writing (Bidi_Control).
const pattern =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$';
const compiled = new RegExp(pattern);

/** The rule of `isLineOfText`, as the end of a sentence. */
export const line_of_text_rule =
  'one line of text, without control characters and marks that change the direction of writing';

/**
 * A name, label or title that somebody enters: one line, without control characters and marks that
 * change the direction of writing. Otherwise the answer is 400 `invalid_input`. Surrounding white
 * space is removed; the rest may be empty only if `minLength` is 0. Every such field of the API
 * uses it (test/house/names.test.ts).
 */
export function lineOfText(maxLength: number, description?: string, minLength: 0 | 1 = 1) {
  return Type.String({
    trim: true,
    ...(minLength === 0 ? {} : { minLength }),
    maxLength,
    ...(description === undefined ? {} : { description }),
    pattern,
    wrong_detail: `Must be ${line_of_text_rule}.`,
  });
}

/** Returns true for a text that `lineOfText` accepts, of any length. */
export function isLineOfText(text: string): boolean {
  return compiled.test(text);
}
