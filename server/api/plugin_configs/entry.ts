import { changesOf } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { PluginConfigRow } from './schema.ts';

/** The log's entry for what was done with a config. */
export function configEntry(
  activity: string,
  before: PluginConfigRow | undefined,
  after: PluginConfigRow | undefined,
  more: readonly Change[] = [],
): Entry {
  const { id, plugin_info } = (after ?? before)!;
  const changes = [
    ...changesOf(before, after, [
      'id',
      'plugin_info',
      'secret_keys',
      'uses_oauth',
      'waiting_version',
      'created_at',
      'updated_at',
      'managed_by',
    ]),
    ...more,
  ];
  return {
    activity,
    scope: 'plugin_config',
    item_id: String(id),
    item_name: plugin_info.name,
    changes,
  };
}
