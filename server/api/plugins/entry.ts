import { changesOf } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { Collection } from './collections.ts';
import type { PluginRow } from './schema.ts';

/**
 * Returns the activity entry for a change of a plugin: its answers before and after, and the
 * additions of `more`.
 */
export function pluginEntry(
  collection: Collection,
  activity: string,
  before: PluginRow | undefined,
  after: PluginRow | undefined,
  more: Change[] = [],
): Entry {
  const { id, name } = (after ?? before)!;
  const changes = [
    ...changesOf(before, after, ['id', 'organization_id', 'organization_name', 'managed_by']),
    ...more,
  ];
  return { activity, scope: collection.scope, item_id: String(id), item_name: name, changes };
}

/**
 * Returns the activity entry's line for a change of code: the hash of all files before and after.
 */
export function contentChange(before: string | undefined, after: string): Change[] {
  return changesOf(before === undefined ? {} : { content_sha256: before }, {
    content_sha256: after,
  });
}
