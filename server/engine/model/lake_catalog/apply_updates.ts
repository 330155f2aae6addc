import { openDraft, keyOf } from './draft.ts';
import type { Draft, KnownSnapshot } from './draft.ts';
import { listOf, longAt, longOf, objectAt, objectOf, textOf } from './fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import type { TableMetadata } from './metadata.ts';
import { badRequest } from './refusal.ts';
import { table_updates } from './schema_updates.ts';
import type { Apply } from './schema_updates.ts';
import { snapshot_updates } from './snapshot_updates.ts';

const known_updates: Record<string, Apply> = { ...table_updates, ...snapshot_updates };

/** Returns the ids of the snapshots that the updates name, which `applyUpdates` needs. */
export function namedSnapshots(updates: readonly unknown[]): string[] {
  return [...new Set(updates.flatMap((one) => namedBy(objectAt(one, 'An update'))))];
}

function namedBy(update: Fields): string[] {
  switch (update['action']) {
    case 'add-snapshot':
      return [keyOf(longOf(objectOf(update, 'snapshot'), 'snapshot-id'))];
    case 'set-snapshot-ref':
      return [keyOf(longOf(update, 'snapshot-id'))];
    case 'remove-snapshots':
      return listOf(update, 'snapshot-ids').map((id) => keyOf(longAt(id, 'snapshot-ids')));
    default:
      return [];
  }
}

/**
 * Returns the table after all updates, in order. `known` holds the stored snapshots that the
 * updates name. Throws 400 for an unknown or unsuitable update, and 409 for a snapshot that was
 * based on an older state.
 */
export function applyUpdates(
  table: TableMetadata,
  updates: readonly unknown[],
  known: readonly KnownSnapshot[],
  now_ms: number,
): Draft {
  const draft = openDraft(table, known, now_ms);
  const applied = updates.map((one): [Apply, Fields] => {
    const update = objectAt(one, 'An update');
    const action = textOf(update, 'action');
    if (!Object.hasOwn(known_updates, action)) throw badRequest(`There is no update ${action}.`);
    return [known_updates[action]!, update];
  });
  for (const [apply, update] of applied) apply(draft, update);
  // A snapshot that one commit both added and replaced was never the current one.
  const current = draft.table['current-snapshot-id'];
  const is_current = (id: string) => current !== undefined && keyOf(current) === id;
  draft.logged = draft.logged.filter(({ id }) => is_current(id) || !draft.added.has(id));
  return draft;
}
