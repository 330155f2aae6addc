import { changesOf } from '../../platform/activity/changes.ts';
import type { Activity } from '../../platform/activity/chain.ts';
import type { ErasureRow } from './schema.ts';

/** Returns the activity entry for a requested erasure, without personal data. */
export function erasureEntry({ id, kind, late_events, asked }: ErasureRow): Activity {
  return {
    activity: 'created',
    scope: 'erasure',
    item_id: id,
    item_name: null,
    changes: changesOf(undefined, { kind, late_events, ...asked }),
  };
}
