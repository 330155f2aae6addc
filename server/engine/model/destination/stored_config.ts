import type { Secrets } from '../../../platform/secrets/secrets.ts';

/**
 * A destination's config as it is stored: the public part as JSON, the secret keys sealed together.
 */
export type StoredConfig = {
  destination_config: Record<string, unknown> | null;
  destination_secrets: Buffer | null;
};

/** Returns the context that seals the secrets of an export, including the copies of its runs. */
export function secretsContext(exportId: string): string {
  return `batch_exports:${exportId}:destination_secrets`;
}

/** Returns the context that seals the secrets of a connection. */
export function connectionContext(connectionId: string): string {
  return `connections:${connectionId}:destination_secrets`;
}

/**
 * Splits a full config into a public and a sealed part. The seal opens only for the row of this
 * export, or for another row with the same context.
 */
export function storeConfig(
  secrets: Secrets,
  id: string,
  config: Record<string, unknown>,
  secretKeys: readonly string[],
  contextOf = secretsContext,
): StoredConfig {
  const shown = Object.fromEntries(
    Object.entries(config).filter(([key]) => !secretKeys.includes(key)),
  );
  const hidden = Object.fromEntries(
    Object.entries(config).filter(([key]) => secretKeys.includes(key)),
  );
  return {
    destination_config: shown,
    destination_secrets:
      Object.keys(hidden).length === 0 ? null : secrets.seal(JSON.stringify(hidden), contextOf(id)),
  };
}

/** Returns the full config with its secrets. Never log, return or store it. */
export function loadConfig(
  secrets: Secrets,
  id: string,
  stored: StoredConfig,
  contextOf = secretsContext,
): Record<string, unknown> {
  return { ...stored.destination_config, ...hiddenOf(secrets, stored, contextOf(id)) };
}

/** Returns the keys for which a secret is stored. */
export function secretKeysOf(secrets: Secrets, exportId: string, stored: StoredConfig): string[] {
  return Object.entries(hiddenOf(secrets, stored, secretsContext(exportId)))
    .filter(([, value]) => isGivenSecret(value))
    .map(([key]) => key);
}

/** Returns true if the value of a secret key is a secret; an empty value is not. */
export function isGivenSecret(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : value !== null && value !== undefined && value !== '';
}

function hiddenOf(
  secrets: Secrets,
  { destination_secrets: sealed }: StoredConfig,
  context: string,
): Record<string, unknown> {
  if (sealed === null) return {};
  return JSON.parse(secrets.open(sealed, context)) as Record<string, unknown>;
}
