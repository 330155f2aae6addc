import { isGivenSecret, loadConfig } from '../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../engine/model/destination/stored_config.ts';
import { findDestination } from '../../engine/destinations/index.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { entryWriter } from '../../platform/http/records.ts';
import type { Entry } from '../../platform/http/write.ts';
import { alias_names } from './aliases.ts';
import type { BatchExport } from './schema.ts';

// A field with two names appears under the product's own name. The next run is left out, because it
// follows from the schedule.
const not_its_own = [
  'last_updated_at',
  'latest_runs',
  'next_run',
  'waiting_schema',
  'schema',
  'managed_by',
  'verified_through',
  'verification',
  ...alias_names,
];

/**
 * Returns the activity entry for a change of an export: its answers before and after, and the keys
 * of changed secrets.
 */
export const exportEntry = entryWriter(
  'batch_export',
  ({ name }: BatchExport) => name,
  not_its_own,
);

/**
 * Returns the activity entry for an action on an export, such as a run or a backfill. `changes`
 * says which run or backfill, and what happened to it.
 */
export function exportActionEntry(
  activity: string,
  item: { id: string; name: string },
  details: Record<string, unknown>,
): Entry {
  return {
    activity,
    scope: 'batch_export',
    item_id: item.id,
    item_name: item.name,
    changes: changesOf({}, details),
  };
}

type StoredDestination = StoredConfig & { id: string; destination_type: string };

/**
 * Lists the secret keys of the destination's config that differ between two states of an export's
 * row.
 */
export function secretChanges(
  engine: Engine,
  before: StoredDestination | undefined,
  after: StoredDestination,
): Change[] {
  const secretsOf = (row: StoredDestination | undefined): Record<string, unknown> => {
    if (row === undefined) return {};
    const names: readonly string[] = findDestination(row.destination_type)?.secrets ?? [];
    return Object.fromEntries(
      Object.entries(loadConfig(engine.secrets, row.id, row)).filter(
        ([key, value]) => names.includes(key) && isGivenSecret(value),
      ),
    );
  };
  return changesOf(secretsOf(before), secretsOf(after)).map((change) =>
    secretChange(`destination.config.${change.field}`, change.action),
  );
}
