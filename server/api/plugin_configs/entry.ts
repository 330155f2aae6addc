import { changesOf } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { PluginConfigRow } from './schema.ts';

/** Returns the activity entry for an action on a config. */
export function configEntry(
  activity: string,
  before: PluginConfigRow | undefined,
  after: PluginConfigRow | undefined,
  more: Entry['changes'] = [],
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
