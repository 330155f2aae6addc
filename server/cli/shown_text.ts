/**
 * Returns a text from outside as part of one line, so that it can neither move the cursor nor start
 * another line.
 */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
