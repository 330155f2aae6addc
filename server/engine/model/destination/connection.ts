import type { DestinationDefinition } from './destination.ts';

type Config = Record<string, unknown>;
type Definition = Pick<DestinationDefinition, 'connection'>;

/** Returns true if a connection has this key of the config. */
export function isOfConnection({ connection = [] }: Definition, key: string): boolean {
  return connection.includes(key);
}

/** Returns the connection's part of a config. */
export function connectionPart(definition: Definition, config: Config): Config {
  return Object.fromEntries(
    Object.entries(config).filter(([key]) => isOfConnection(definition, key)),
  );
}

/** Returns the export's part of a config, beside its connection. */
export function exportPart(definition: Definition, config: Config): Config {
  return Object.fromEntries(
    Object.entries(config).filter(([key]) => !isOfConnection(definition, key)),
  );
}

/**
 * The whole config of an export that uses a connection. Guarantee: every key of a connection is the
 * connection's, and the others are the export's.
 */
export function joinedConfig(definition: Definition, connection: Config, own: Config): Config {
  return { ...exportPart(definition, own), ...connectionPart(definition, connection) };
}
