import type { DestinationDefinition } from './destination.ts';

type Config = Record<string, unknown>;
type Definition = Pick<DestinationDefinition, 'connection'>;

/** Returns true if this key of the config belongs to the connection. */
export function isOfConnection({ connection = [] }: Definition, key: string): boolean {
  return connection.includes(key);
}

/** Returns the connection's part of a config. */
export function connectionPart(definition: Definition, config: Config): Config {
  return Object.fromEntries(
    Object.entries(config).filter(([key]) => isOfConnection(definition, key)),
  );
}

/** Returns the export's part of a config: all keys outside its connection. */
export function exportPart(definition: Definition, config: Config): Config {
  return Object.fromEntries(
    Object.entries(config).filter(([key]) => !isOfConnection(definition, key)),
  );
}

/**
 * Returns the whole config of an export that uses a connection. Guarantee: connection keys come
 * from the connection, all others from the export.
 */
export function joinedConfig(definition: Definition, connection: Config, own: Config): Config {
  return { ...exportPart(definition, own), ...connectionPart(definition, connection) };
}
