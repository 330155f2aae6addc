import { numberOf } from '../form/values.ts';

/** The entries of a field with one a line, each once; empty lines count for nothing. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/** A whole number as it was typed, null for nothing; the API refuses what is none. */
export function limitOf(text: string): number | null {
  return text.trim() === '' ? null : numberOf(text);
}
