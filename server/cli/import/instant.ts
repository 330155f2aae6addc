import { Temporal } from 'temporal-polyfill';
import { isoInstant } from '../../platform/clock.ts';

const zonePattern = /(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$/;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;
const isoPattern = /^\d{4}-?\d{2}-?\d{2}[Tt]\d{2}/;
const epochPattern = /^-?\d+(\.\d+)?$/;
const offsetPattern = /[+-](?!00(?::?00)?$)\d{2}(?::?\d{2})?$/;
const finerPattern = /[.,]\d{7,}/;

/**
 * Returns an instant of a foreign file as ISO 8601 with `Z` or its own offset; undefined for other
 * texts. It reads ISO text with or without a zone, a date, and seconds, milliseconds or
 * microseconds since 1970.
 */
export function readForeignInstant(given: string, timezone: string): string | undefined {
  const text = given.trim();
  if (text === '') return undefined;
  if (epochPattern.test(text)) return epochInstant(text);
  const whole = wholeOf(text);
  // `01/02/2026` is ambiguous: the day or the month may come first.
  if (!isoPattern.test(whole)) return undefined;
  if (hasZone(text)) return whole.replace(/ (?=[+-]\d{2})/, '');
  if (timezone === 'UTC') return `${whole}Z`;
  try {
    return Temporal.PlainDateTime.from(whole).toZonedDateTime(timezone).toInstant().toString();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns true if the text has a zone. */
export function hasZone(given: string): boolean {
  return zonePattern.test(wholeOf(given.trim()).slice(10));
}

/**
 * Returns true if the stored instant, UTC with microseconds, loses nothing of the text: no offset
 * and no finer digits.
 */
export function isExactInstant(given: string): boolean {
  const text = given.trim();
  if (epochPattern.test(text)) return fractionOf(text).length <= exponentOf(text);
  return !offsetPattern.test(wholeOf(text).slice(10)) && !finerPattern.test(text);
}

function wholeOf(text: string): string {
  return datePattern.test(text) ? `${text}T00:00:00` : text.replace(' ', 'T');
}

/**
 * Returns the exponent that converts the number to microseconds: six for seconds, three for
 * milliseconds, none for microseconds.
 */
function exponentOf(text: string): number {
  const magnitude = Math.abs(Number(text));
  return magnitude < 1e11 ? 6 : magnitude < 1e14 ? 3 : 0;
}

function fractionOf(text: string): string {
  return text.split('.')[1] ?? '';
}

function epochInstant(text: string): string | undefined {
  const exponent = exponentOf(text);
  const [whole = '0'] = text.split('.');
  const fraction = fractionOf(text).padEnd(exponent, '0').slice(0, exponent);
  const microseconds = BigInt(whole + fraction);
  if (microseconds < 0n) return undefined;
  const milliseconds = microseconds / 1000n;
  if (milliseconds > 8_000_000_000_000n) return undefined;
  const last_digits = String(microseconds % 1000n).padStart(3, '0');
  return `${isoInstant(Number(milliseconds)).slice(0, -4)}${last_digits}Z`;
}
