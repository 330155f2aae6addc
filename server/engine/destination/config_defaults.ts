import type { DestinationDefinition } from './destination.ts';

/** A copy of the config with the defaults of absent keys. */
export function withDefaults(
  { config: { properties } }: Pick<DestinationDefinition, 'config'>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const config = { ...structuredClone(given) };
  for (const [key, schema] of Object.entries(properties as Record<string, { default?: unknown }>)) {
    if (!Object.hasOwn(config, key) && schema.default !== undefined)
      config[key] = structuredClone(schema.default);
  }
  return config;
}
