import type { DestinationType } from '../../../server/api/destinations/schema.ts';
import { isShown, keysOf } from '../../destinations/config.ts';
import type { Config } from '../../destinations/config.ts';

/** A stored value, or a word for it. */
type Told = { text: string; is_word: boolean };

const word = (text: string): Told => ({ text, is_word: true });

function told(value: unknown): Told {
  if (value === '') return word('empty');
  if (value === null || (Array.isArray(value) && value.length === 0)) return word('none');
  if (typeof value === 'boolean') return word(value ? 'yes' : 'no');
  const texts = [value].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  return { text: texts.join(', '), is_word: false };
}

/**
 * Lists the stored config of a destination, with the titles and in the order of its form; omits
 * keys that have no meaning beside the others. Without the type, which a server may no longer have,
 * lists all by key.
 */
export function configFacts(
  type: DestinationType | undefined,
  config: Config,
): (Told & { key: string; title: string })[] {
  const schemas = Object.fromEntries(type === undefined ? [] : keysOf(type));
  return [...new Set([...Object.keys(schemas), ...Object.keys(config)])]
    .filter((key) => Object.hasOwn(config, key))
    .filter((key) => type === undefined || isShown(type, key, {}, config))
    .map((key) => ({ key, title: schemas[key]?.title ?? key, ...told(config[key]) }));
}
