import type { DestinationType } from '../../api/destinations/schema.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { readContent, readPair } from '../client/read_options.ts';
import { WrongUsageError } from '../user_error.ts';

/**
 * Returns the config of a destination from `name=value`. Each value gets the type in the
 * destination's schema, and `name=@file` reads a file. Throws for an unknown name, and lists the
 * known ones.
 */
export function readDestinationConfig(
  pairs: readonly string[],
  { type, config }: Pick<DestinationType, 'type' | 'config'>,
): Fields {
  const properties = config['properties'] as Record<string, Fields>;
  const entries = pairs.map((pair): [string, unknown] => {
    const [name, text] = readPair('--config', pair);
    const schema = Object.hasOwn(properties, name) ? properties[name]! : undefined;
    if (schema === undefined)
      throw new WrongUsageError(
        `${type} has no key ${name}. It has ${Object.keys(properties).join(', ')}.`,
      );
    const given = text.startsWith('@') ? readContent(`--config ${name}`, text.slice(1)) : text;
    return [name, typed(name, given, [schema['type'] ?? 'string'].flat() as string[])];
  });
  return Object.fromEntries(entries);
}

/** Returns the text in the first type that it fits; unchanged if that is text, or if none fits. */
function typed(name: string, text: string, types: readonly string[]): unknown {
  if (types.includes('string')) return text;
  const value = parseJson(text);
  const fits = {
    integer: Number.isInteger(value),
    number: typeof value === 'number',
    boolean: typeof value === 'boolean',
    array: Array.isArray(value),
    object: isFields(value),
    null: value === null,
  };
  if (types.some((type) => type in fits && fits[type as keyof typeof fits])) return value;
  // People type a list of texts with commas.
  if (types.includes('array') && value === undefined)
    return text.split(',').map((item) => item.trim());
  const known = types.filter((type) => type !== 'null').join(' or ');
  throw new WrongUsageError(`--config ${name} takes ${known}, not "${text}".`);
}
