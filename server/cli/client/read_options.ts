import { readFileSync } from 'node:fs';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import { isInstant } from '../../platform/instant.ts';
import { WrongUsageError } from '../user_error.ts';
import type { TargetFlags } from './target.ts';

/** The options of a command that reads and prints. */
export type ReadFlags = TargetFlags & { json?: boolean };

/** Reads a whole number from 1 on; throws for another text. */
export function readCount(option: string, text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= 100_000) return count;
  throw new WrongUsageError(`${option} takes a whole number from 1 to 100000, not "${text}".`);
}

/** Reads an instant: with its zone, a day (its midnight in UTC), or `now`. */
export function readInstant(option: string, text: string): string {
  if (text === 'now') return isoInstant(systemClock.now());
  const instant = /^\d{4}-\d{2}-\d{2}$/.test(text)
    ? `${text}T00:00:00Z`
    : text
        .replace(' ', 'T')
        .replace(/(T\d{2}:\d{2})(?!:)/, '$1:00')
        .replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
  if (isInstant(instant)) return new Date(instant).toISOString();
  throw new WrongUsageError(
    `${option} takes an instant with its zone such as 2026-01-31T10:00:00Z, a day such as ` +
      `2026-01-31 (its midnight in UTC), or now; not "${text}".`,
  );
}

/** Reads `name=value` as a pair; throws for a text without a name. */
export function readPair(option: string, text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new WrongUsageError(`${option} takes name=value, not "${text}".`);
}

/**
 * Returns the content of a file, or of standard input for `-`, without the last line end. Throws if
 * it cannot be read or is empty, because an empty value is probably a mistake.
 */
export function readContent(option: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WrongUsageError(`${option}: ${file} cannot be read: ${code}.`);
  }
  if (text.trim() !== '') return text;
  const what = file === '-' ? 'standard input' : file;
  throw new WrongUsageError(`${option}: ${what} is empty. Nothing was sent.`);
}
