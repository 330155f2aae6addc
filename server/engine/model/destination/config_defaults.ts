import type { DestinationDefinition } from './destination.ts';

/**
 * Returns the config with the defaults of absent keys. The values are shared: do not change them.
 */
export function withDefaults(
  { config: { properties } }: Pick<DestinationDefinition, 'config'>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const config = { ...given };
  for (const [key, schema] of Object.entries(properties as Record<string, { default?: unknown }>)) {
    if (!Object.hasOwn(config, key) && schema.default !== undefined) config[key] = schema.default;
  }
  return config;
}
