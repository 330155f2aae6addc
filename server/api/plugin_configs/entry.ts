import { entryWriter } from '../../platform/http/records.ts';
import type { PluginConfigRow } from './schema.ts';

/** Returns the log's entry for a change of a config. */
export const configEntry = entryWriter(
  'plugin_config',
  ({ plugin_info }: PluginConfigRow) => plugin_info.name,
  [
    'id',
    'plugin_info',
    'secret_keys',
    'uses_oauth',
    'waiting_version',
    'created_at',
    'updated_at',
    'managed_by',
  ],
);
