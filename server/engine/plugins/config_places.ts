import type { ConfigField } from './plugin.ts';

/** Words in a field's key that mark it as the address or the account of a plugin. */
const place_words = new Set(
  [
    'account address addresses broker brokers bucket cluster domain dsn endpoint endpoints',
    'gateway host hostname hosts instance ip origin port project proxy region server servers',
    'site subdomain tenant uri uris url urls user username webhook workspace',
  ].flatMap((words) => words.split(' ')),
);
/** Words that also count as endings of a longer word. */
const place_endings = /(?:url|uri|host|hostname|endpoint|domain|address|bucket|region)$/;

type Settings = Readonly<Record<string, unknown>>;

/**
 * Returns the keys of the fields that say where the secrets of a plugin's config go. A word of the
 * key says so, or a value before or after the change is a URL. Plugins choose their own field
 * names, so no list of them exists.
 */
export function placeKeys(
  fields: readonly ConfigField[],
  ...states: readonly Settings[]
): string[] {
  return fields.flatMap(({ key }) =>
    key !== undefined && (isPlaceName(key) || states.some((values) => hasAddress(values[key])))
      ? [key]
      : [],
  );
}

function isPlaceName(key: string): boolean {
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some((word) => place_words.has(word) || place_endings.test(word));
}

function hasAddress(value: unknown): boolean {
  return typeof value === 'string' && value.includes('://');
}

/** Returns the values with defaults for empty fields, as the plugin gets them. */
export function withDefaults(fields: readonly ConfigField[], values: Settings): Settings {
  const given = fields.flatMap(({ key, default: standard }): [string, unknown][] =>
    key === undefined
      ? []
      : [[key, (Object.hasOwn(values, key) ? values[key] : undefined) ?? standard]],
  );
  return Object.fromEntries(given);
}
