import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { fieldsOf, secretNames } from './config_schema.ts';
import { configFaults } from './packages/manifest.ts';
import { loadPluginConfig, storePluginConfig } from './stored_config.ts';
import type { StoredPluginConfig } from './stored_config.ts';

type Row = StoredPluginConfig & { id: number; enabled: boolean };

/**
 * Adapts the configs of a plugin to another schema of settings, under the caller's lock on the
 * plugin. Guarantees: a value whose field has become secret is sealed from now on, and a sealed one
 * stays sealed. Nothing is disabled and no value is lost. An enabled config with a missing setting
 * says so in its `error`. Returns the number of configs with a missing setting. Configs of other
 * organizations that run an accepted version follow when they accept another one.
 */
export async function followSchema(
  tx: Transaction,
  secrets: Secrets,
  plugin_id: number,
  config_schema: unknown,
): Promise<number> {
  // In the order of ids, which avoids deadlocks.
  const rows = await tx.rows<Row>(sql`
    SELECT c.id, c.enabled, c.config, c.config_secrets, c.secret_keys FROM plugin_configs c
      WHERE c.plugin_id = ${plugin_id} AND c.accepted_version_id IS NULL
      ORDER BY c.id FOR UPDATE`);
  return follow(tx, secrets, rows, config_schema);
}

/**
 * Does the same as `followSchema` for one config whose organization accepts the schema; the caller
 * has locked it.
 */
export async function followAcceptedSchema(
  tx: Transaction,
  secrets: Secrets,
  config_id: number,
  config_schema: unknown,
): Promise<void> {
  const rows = await tx.rows<Row>(sql`
    SELECT c.id, c.enabled, c.config, c.config_secrets, c.secret_keys FROM plugin_configs c
      WHERE c.id = ${config_id}`);
  await follow(tx, secrets, rows, config_schema);
}

async function follow(
  tx: Transaction,
  secrets: Secrets,
  rows: Row[],
  config_schema: unknown,
): Promise<number> {
  const fields = fieldsOf(config_schema);
  const names = secretNames(fields);
  let incomplete = 0;
  for (const row of rows) {
    const config = loadPluginConfig(secrets, row.id, row);
    if (Object.keys(row.config).some((key) => names.has(key))) {
      const stored = storePluginConfig(
        secrets,
        row.id,
        config,
        new Set([...names, ...row.secret_keys]),
      );
      await tx.run(sql`
        UPDATE plugin_configs SET config = ${JSON.stringify(stored.config)}::json,
          config_secrets = ${stored.config_secrets}, secret_keys = ${stored.secret_keys},
          updated_at = now()
        WHERE id = ${row.id}`);
    }
    // A value without a field is harmless, and a rollback may need it.
    const faults = row.enabled
      ? configFaults(fields, config).filter(({ code }) => code !== 'unknown_field')
      : [];
    if (faults.length === 0) continue;
    incomplete += 1;
    const error =
      `The plugin's settings have changed: ` +
      faults.map(({ attr, detail }) => `${attr}: ${detail}`).join(' ');
    await tx.run(
      sql`UPDATE plugin_configs SET error = ${error}, error_at = now(), updated_at = now()
        WHERE id = ${row.id}`,
    );
  }
  return incomplete;
}
