import { loadConfig, connectionContext } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { changesOf, secretChange } from '../../../platform/activity/changes.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { definitionOf } from './input.ts';
import type { Connection } from './schema.ts';
import type { StoredConnection } from './store.ts';

const not_its_own = [
  'last_updated_at',
  'secret_keys',
  'batch_export_count',
  'batch_exports',
  'managed_by',
];

/** The shown and the stored form of a connection. */
type State = { shown: Connection; stored: StoredConnection };

/**
 * Returns the activity entry for a change of a connection: its answers before and after, and the
 * keys of changed secrets.
 */
export function connectionEntry(
  { secrets }: Pick<Engine, 'secrets'>,
  activity: string,
  after: State | undefined,
  before?: State,
): Entry {
  const { id, name } = (after ?? before)!.shown;
  const secretsOf = (state: State | undefined): Record<string, unknown> => {
    if (state === undefined) return {};
    const { stored } = state;
    const hidden: readonly string[] = definitionOf(stored.destination_type).secrets;
    return Object.fromEntries(
      Object.entries(loadConfig(secrets, stored.id, stored, connectionContext)).filter(([key]) =>
        hidden.includes(key),
      ),
    );
  };
  const hidden = changesOf(secretsOf(before), secretsOf(after)).map((change) =>
    secretChange(`config.${change.field}`, change.action),
  );
  const shown = changesOf(before?.shown, after?.shown, not_its_own);
  return {
    activity,
    scope: 'connection',
    item_id: id,
    item_name: name,
    changes: [...shown, ...hidden],
  };
}
