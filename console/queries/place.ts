/** A position in a text in the API's form: from 1, in characters (code points). */
export type Place = { line: number; column: number; length: number };

/** Returns the span of the position in the text, in JavaScript's units. */
export function spanOf(
  text: string,
  { line, column, length }: Place,
): { from: number; to: number } {
  const lines = text.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const from = Math.min(text.length, before + unitsOf(lines[line - 1] ?? '', column - 1));
  return { from, to: Math.min(text.length, from + unitsOf(text.slice(from), length)) };
}

function unitsOf(text: string, characters: number): number {
  return [...text].slice(0, characters).join('').length;
}
