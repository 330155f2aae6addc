import { changesOf } from '../../platform/activity/changes.ts';
import type { Activity } from '../../platform/activity/chain.ts';
import type { ErasureRow } from './schema.ts';

/** The log's entry for an erasure that was asked for; it names nobody. */
export function erasureEntry({ id, kind, late_events, asked }: ErasureRow): Activity {
  return {
    activity: 'created',
    scope: 'erasure',
    item_id: id,
    item_name: null,
    changes: changesOf(undefined, { kind, late_events, ...asked }),
  };
}
