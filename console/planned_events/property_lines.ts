import type { PlannedEventRow } from '../../server/api/planned_events/schema.ts';

type Property = PlannedEventRow['properties'][number];

/**
 * The properties that were typed, one a line: name, type, and `required`. A line without a type is
 * any value; of a wrong type the API says what it may be.
 */
export function propertiesOf(text: string): Property[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map(propertyOf);
}

function propertyOf(line: string): Property {
  const words = line.split(/\s+/);
  const required = words.length > 1 && words.at(-1) === 'required';
  if (required) words.pop();
  const type = words.length > 1 ? words.pop()! : 'any';
  return { name: words.join(' '), type: type as Property['type'], required };
}

/** The properties as they are typed. */
export function linesOf(properties: readonly Property[]): string {
  return properties
    .map(({ name, type, required }) => `${name} ${type}${required ? ' required' : ''}`)
    .join('\n');
}
