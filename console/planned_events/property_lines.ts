import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';

type Property = PlannedEventRow['properties'][number];

/**
 * The properties that were typed, one a line: name, type, `required`, and the values that it may
 * have as a list of JSON. A line without a type is any value; of a wrong type the API says what it
 * may be.
 */
export function propertiesOf(text: string): Property[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(propertyOf);
}

function propertyOf(line: string): Property {
  const at = line.indexOf(' [');
  const values = at < 0 ? undefined : listIn(line.slice(at));
  const words = (values === undefined ? line : line.slice(0, at)).split(/\s+/);
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

/** The properties as they are typed. */
export function linesOf(properties: readonly Property[]): string {
  return properties
    .map(
      ({ name, type, required, values }) =>
        `${name} ${type}${required ? ' required' : ''}` +
        (values === undefined ? '' : ` ${JSON.stringify(values)}`),
    )
    .join('\n');
}
