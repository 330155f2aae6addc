import type { ErasureAsked } from '../../server/api/erasures/schema.ts';
import type { Values } from '../form/values.ts';
import { typedAt } from '../time/zone.ts';

type Filter = NonNullable<ErasureAsked['filter']>;
/** A number as written, whose digits JavaScript would round. */
type ExactNumber = { rawJSON: string };
type Value = NonNullable<Filter['properties']>[number]['value'] | ExactNumber;

/** Returns the non-empty lines of a field. */
export function linesOf(value: Values[string] | undefined): string[] {
  return String(value ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/**
 * Returns the filter of the form, with days in the time zone; an empty field is no condition. A
 * text that is no day stays unchanged, so that the API refuses it.
 */
export function filterOf(values: Values, zone: string): Filter {
  const events = linesOf(values['filter__events']);
  const properties = linesOf(values['filter__properties']).map(propertyOf);
  const at = (name: 'after' | 'before') => {
    const day = String(values[`filter__${name}`] ?? '');
    const typed = typedAt(day, zone);
    if (day === '') return {};
    return { [name]: typed === undefined ? day : new Date(typed).toISOString() };
  };
  return {
    ...(events.length === 0 ? {} : { events }),
    ...at('after'),
    ...at('before'),
    // A property may lack its value, which the API refuses.
    ...(properties.length === 0 ? {} : { properties: properties as Filter['properties'] }),
  };
}

/**
 * Reads a line such as `plan = trial`. A line without a value stays a condition, so that the API
 * refuses it.
 */
function propertyOf(line: string): { key: string; value?: Value } {
  const at = line.indexOf('=');
  const value = at === -1 ? undefined : valueOf(line.slice(at + 1).trim());
  const key = (at === -1 ? line : line.slice(0, at)).trim();
  return value === undefined ? { key } : { key, value };
}

/** Reads a text, number or boolean of JSON; any other text stays unchanged. */
function valueOf(written: string): Value | undefined {
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'number') return exactly(value, written);
    if (typeof value === 'string' || typeof value === 'boolean') return value;
  } catch {
    // The text is no JSON.
  }
  return written;
}

const json = JSON as typeof JSON & { rawJSON?: (text: string) => ExactNumber };

/**
 * Returns the number with all written digits, because a rounded one would match other events.
 * Browsers from before 2025 can only send a double's digits; there, a longer number has no value.
 */
function exactly(value: number, written: string): Value | undefined {
  const digits = written.replace(/[eE].*$/, '').replaceAll(/\D/g, '');
  return digits.length <= 15 && Number.isFinite(value) ? value : json.rawJSON?.(written);
}

/** Describes the filter without names, as the start of a sentence. */
export function filterInWords(values: Values, zone: string): string {
  const { after, before, properties = [] } = filterOf(values, zone);
  const days = [
    ...(after === undefined ? [] : [`from ${String(values['filter__after'])} on`]),
    ...(before === undefined ? [] : [`before ${String(values['filter__before'])}`]),
  ];
  const had = properties.map(({ key, value }) => `${key} is ${valueInWords(value)}`);
  return (
    `All of them ${days.length === 0 ? 'of every day' : `${days.join(' and ')} (${zone})`}` +
    `${had.length === 0 ? '' : ` whose ${had.join(' and whose ')}`}, and no persons,`
  );
}

function valueInWords(value: Value | undefined): string {
  if (typeof value === 'object') return value.rawJSON;
  return typeof value === 'string' ? `the text “${value}”` : String(value);
}
