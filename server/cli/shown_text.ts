/**
 * Text of others as a part of one line: names and values may not move the cursor, turn the line or
 * begin one that looks like ours.
 */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
