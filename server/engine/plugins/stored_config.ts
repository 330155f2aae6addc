import type { Secrets } from '../../platform/secrets/secrets.ts';

/**
 * A project's settings for a plugin as they are stored: the public ones, the secret ones sealed
 * together, and the names of those.
 */
export type StoredPluginConfig = {
  config: Record<string, unknown>;
  config_secrets: Buffer | null;
  secret_keys: string[];
};

/** Returns the context that seals the secrets of a plugin's config. */
export function pluginConfigContext(config_id: number): string {
  return `plugin_configs:${config_id}:config_secrets`;
}

/**
 * Splits the full settings into a public and a sealed part; the seal only opens for this config's
 * row. Omits names without a setting.
 */
export function storePluginConfig(
  secrets: Secrets,
  config_id: number,
  config: Record<string, unknown>,
  secretNames: ReadonlySet<string>,
): StoredPluginConfig {
  const shown = Object.entries(config).filter(([key]) => !secretNames.has(key));
  const hidden = Object.entries(config).filter(([key]) => secretNames.has(key));
  return {
    config: Object.fromEntries(shown),
    config_secrets:
      hidden.length === 0
        ? null
        : secrets.seal(JSON.stringify(Object.fromEntries(hidden)), pluginConfigContext(config_id)),
    // An empty text is no secret: it deletes the earlier one.
    secret_keys: hidden.flatMap(([key, value]) => (value === '' ? [] : [key])),
  };
}

/** Returns the full settings, secrets included. Never log, return or store them. */
export function loadPluginConfig(
  secrets: Secrets,
  config_id: number,
  stored: StoredPluginConfig,
): Record<string, unknown> {
  const hidden =
    stored.config_secrets === null
      ? {}
      : (JSON.parse(secrets.open(stored.config_secrets, pluginConfigContext(config_id))) as Record<
          string,
          unknown
        >);
  return { ...stored.config, ...hidden };
}
