import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';
import { Problem } from '../http/problem.ts';

type Property = PlannedEventRow['properties'][number];

const types = Object.keys({
  any: true,
  text: true,
  number: true,
  integer: true,
  boolean: true,
  list: true,
  object: true,
} satisfies Record<Property['type'], true>);
const name_length_max = 200;

/**
 * Reads the typed properties, one per line: name, type, `required`, and the allowed values as a
 * JSON list. A line without a type allows any value. Throws a problem that lists the faulty lines.
 */
export function propertiesOf(text: string): Property[] {
  const names = new Set<string>();
  const faults: string[] = [];
  const properties = text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    const property = propertyOf(line.trim());
    const fault = property === undefined ? no_list : faultOf(property, names);
    if (fault !== undefined) faults.push(`Line ${at + 1}: ${fault}`);
    if (property === undefined) return [];
    names.add(property.name);
    return [property];
  });
  if (faults.length > 0)
    throw new Problem(
      400,
      faults.map((detail) => ({ attr: 'properties', code: 'invalid_input', detail })),
    );
  return properties;
}

const no_list = 'Write the allowed values as a JSON list, such as ["free", "pro"].';

function faultOf({ name, type, values }: Property, names: Set<string>): string | undefined {
  if (name.length > name_length_max) return `A name has at most ${name_length_max} characters.`;
  if (names.has(name)) return `“${name}” occurs twice.`;
  if (values?.every(isPlain) === false || values?.length === 0) return no_list;
  return types.includes(type)
    ? undefined
    : `“${type}” is not a type. Types are ${types.join(', ')}.`;
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value);

/** Returns the property of a line; undefined if it ends with an invalid JSON list. */
function propertyOf(line: string): Property | undefined {
  const begins = [...line.matchAll(/ \[/g)].map(({ index }) => index);
  const at = begins.find((begin) => listIn(line.slice(begin)) !== undefined);
  if (at === undefined && / \[[^\]]*\]?$/.test(line)) return undefined;
  const values = at === undefined ? undefined : listIn(line.slice(at));
  const words = line.slice(0, at).split(/\s+/);
  const required = words.length > 1 && words.at(-1) === 'required';
  if (required) words.pop();
  const type = words.length > 1 ? words.pop()! : 'any';
  return {
    name: words.join(' '),
    type: type as Property['type'],
    required,
    ...(values === undefined ? {} : { values }),
  };
}

function listIn(text: string): Property['values'] {
  try {
    return JSON.parse(text) as Property['values'];
  } catch {
    return undefined;
  }
}

/** Returns the properties as typed text. */
export function linesOf(properties: readonly Property[]): string {
  return properties
    .map(
      ({ name, type, required, values }) =>
        `${name} ${type}${required ? ' required' : ''}` +
        (values === undefined ? '' : ` ${JSON.stringify(values)}`),
    )
    .join('\n');
}
