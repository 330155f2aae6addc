import { canonicalValue } from '../../server/engine/destinations/contents/canonical.ts';
import type { PropertyType } from '../../server/engine/model/schema/property_type.ts';

// The rule of typed exports in plain code: the values that a type takes, and when two are equal.

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const exactly = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/** Returns a decimal number as its digits without zeros at the ends, and its exponent. */
function decimalOf(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  const place = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length);
  return short === '' ? '0' : `${sign}${short}e${place}`;
}

/**
 * Returns one text for all spellings of a JSON value with the same meaning, also of numbers of any
 * size.
 */
export function sameJson(text: string): string {
  const numbered = exactly.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? { number: decimalOf(source) } : value,
  );
  return JSON.stringify(numbered, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Returns the properties of an object by name, each as JSON text with unchanged numbers. */
export function propertiesOf(text: string): Map<string, string> {
  const object = exactly.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactly.rawJSON(source) : value,
  );
  return new Map(
    Object.entries(object as Record<string, unknown>).map(([name, value]) => [
      name,
      JSON.stringify(value),
    ]),
  );
}

const instant = /^(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,6}))?(?:Z|[+-][01]\d:[0-5]\d)$/;

/**
 * Returns a text that a column of instants takes as microseconds since the epoch; else undefined.
 */
function instantOf(text: string): bigint | undefined {
  const [, year = '', fraction = ''] = instant.exec(text) ?? [];
  const isUtc = text.endsWith('Z');
  if (year === '' || Number(year) < (isUtc ? 1900 : 1901) || Number(year) > (isUtc ? 2299 : 2298))
    return undefined;
  const local = Date.parse(`${text.slice(0, 19)}Z`);
  // JavaScript reads 24:00 and the 30th of February as the next day.
  if (Number.isNaN(local) || new Date(local).toISOString().slice(0, 19) !== text.slice(0, 19))
    return undefined;
  const zone = /([+-])(\d\d):(\d\d)$/.exec(text);
  const minutes = zone === null ? 0 : Number(zone[2]) * 60 + Number(zone[3]);
  const seconds = local / 1000 - (zone?.[1] === '-' ? -minutes : minutes) * 60;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

/** Returns true if a type takes a value, which is JSON text. */
export function takes(type: PropertyType, sent: string): boolean {
  const value: unknown = JSON.parse(sent);
  switch (type) {
    case 'text':
      return typeof value === 'string';
    case 'integer': {
      if (!/^-?\d{1,19}(?:\.0+)?$/.test(sent)) return false;
      const number = BigInt(sent.split('.')[0]!);
      return number >= -(2n ** 63n) && number < 2n ** 63n;
    }
    case 'float':
      return (
        typeof value === 'number' &&
        Number.isFinite(value) &&
        decimalOf(sent) === decimalOf(String(value).replace('e+', 'e'))
      );
    case 'boolean':
      return typeof value === 'boolean';
    case 'timestamp':
      return typeof value === 'string' && instantOf(value) !== undefined;
    case 'json':
      return value !== null;
  }
}

/**
 * Returns true if a column's value, as a store prints it, is the value that was sent as JSON text.
 */
export function isSame(type: PropertyType, sent: string, stored: string): boolean {
  switch (type) {
    case 'text':
      return JSON.parse(sent) === stored;
    case 'integer':
      return decimalOf(sent) === decimalOf(stored);
    case 'float':
      return Number(sent) === Number(stored) && /^-?[\d.]+(?:[eE][+-]?\d+)?$/.test(stored);
    case 'boolean':
      return sent === ({ t: 'true', f: 'false', '1': 'true', '0': 'false' }[stored] ?? stored);
    case 'timestamp':
      return (
        instantOf(JSON.parse(sent) as string) === instantOf(canonicalValue('timestamp', stored)!)
      );
    case 'json':
      return sameJson(sent) === sameJson(stored);
  }
}
