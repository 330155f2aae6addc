import { changesOf } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { entryWriter } from '../../platform/http/records.ts';
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
  return entryWriter(collection.scope, ({ name }: PluginRow) => name, not_its_own)(
    activity,
    before,
    after,
    more,
  );
}

const not_its_own = ['id', 'organization_id', 'organization_name', 'managed_by'];

/**
 * Returns the activity entry's line for a change of code: the hash of all files before and after.
 */
export function contentChange(before: string | undefined, after: string): Change[] {
  return changesOf(before === undefined ? {} : { content_sha256: before }, {
    content_sha256: after,
  });
}
