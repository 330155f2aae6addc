import sql from 'sql-template-tag';
import type { Database } from '../../../platform/postgres/database.ts';
import { PluginError } from '../plugin.ts';
import type { HostServices } from '../sandbox/host_services.ts';

const keys_max = 10_000;
const size_bytes_max = 100 * 1024 * 1024;

/**
 * Opens a plugin's permanent storage: JSON values by key, at most 10,000 with 100 MiB in stored
 * form. A PluginError refuses a value that does not fit.
 */
export function openStorage(db: Database, config_id: number): HostServices['storage'] {
  return {
    get: async (key) => {
      const row = await db.row<{ value: string }>(
        sql`SELECT value::text AS value FROM plugin_storage WHERE plugin_config_id = ${config_id}
          AND key = ${readKey(key)}`,
      );
      return row === undefined ? undefined : (JSON.parse(row.value) as unknown);
    },
    set: async (key, value) => {
      const text = JSON.stringify(value);
      const written = await db.run(sql`
        INSERT INTO plugin_storage (plugin_config_id, key, value)
        SELECT ${config_id}::integer, ${readKey(key)}::text, ${text}::json FROM (
          SELECT count(*) AS keys, coalesce(sum(pg_column_size(value)), 0) AS bytes
            FROM plugin_storage WHERE plugin_config_id = ${config_id} AND key <> ${key}) others
        WHERE others.keys < ${keys_max} AND others.bytes + ${Buffer.byteLength(text)} <=
          ${size_bytes_max}
        ON CONFLICT (plugin_config_id, key) DO UPDATE
          SET value = excluded.value, updated_at = now()`);
      if (written === 0)
        throw new PluginError(
          'too_large',
          `The plugin's storage is full: delete keys. It holds ${keys_max} keys and ` +
            `${size_bytes_max / 1024 / 1024} MiB.`,
        );
    },
    del: async (key) => {
      await db.run(
        sql`DELETE FROM plugin_storage WHERE plugin_config_id = ${config_id}
          AND key = ${readKey(key)}`,
      );
    },
  };
}

/**
 * Returns the key for storing. Throws a PluginError for one with a null character, which the
 * control store does not accept.
 */
export function readKey(key: string): string {
  if (key.includes('\0')) throw new PluginError('invalid', 'A key must not have a null character.');
  return key;
}
