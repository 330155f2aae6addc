import type { CodeFault } from './fault_place.ts';

/**
 * Returns the word at a position, or one character; the end of the text for a position behind it.
 */
export function spanInText(
  text: string,
  { line, column }: Pick<CodeFault, 'line' | 'column'>,
): { from: number; to: number } {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const on_line = lines[line - 1] ?? '';
  const from = Math.min(before + Math.min(column - 1, on_line.length), text.length);
  const word = /^[\w$]+/.exec(text.slice(from, before + on_line.length))?.[0] ?? '';
  return { from, to: Math.min(from + Math.max(word.length, 1), text.length) };
}
