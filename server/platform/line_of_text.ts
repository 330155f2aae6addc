import { Type } from 'typebox';
import type { TStringOptions } from 'typebox';

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
 * space is removed. Every such field of the API uses it (test/house/names.test.ts).
 */
export function lineOfText(options: Omit<TStringOptions, 'pattern'> & { maxLength: number }) {
  return Type.String({
    trim: true,
    ...options,
    pattern,
    wrong_detail: `Must be ${line_of_text_rule}.`,
  });
}

/** Returns true for a text that `lineOfText` accepts, of any length. */
export function isLineOfText(text: string): boolean {
  return compiled.test(text);
}
