import { numberOf } from '../form/values.ts';

/** Returns the entries of a field with one per line, each once, without empty lines. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/** Returns a typed whole number, null for an empty text; the API refuses other texts. */
export function limitOf(text: string): number | null {
  return text.trim() === '' ? null : numberOf(text);
}
