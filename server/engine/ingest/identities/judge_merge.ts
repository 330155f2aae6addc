import { isIllegalId } from './illegal_ids.ts';
import type { MergeAsk } from './merge_ask.ts';

/** Most distinct ids that are moved at once: a merge is one block of the store. */
export const moved_ids_max = 2_000;

/**
 * Why two persons were not merged, or not completely. The list is closed: docs/persons.md explains
 * it.
 */
export const identity_warning_reasons = [
  'merge_of_identified',
  'merge_of_illegal_id',
  'merge_of_too_many_ids',
  'merged_properties_too_large',
  'person_too_large',
] as const;

export type IdentityWarningReason = (typeof identity_warning_reasons)[number];

/** Knowledge of the rules about the distinct ids. */
export type Identities = {
  /** Returns the distinct id of the person who owns this one; itself if nobody was merged. */
  leaderOf(distinct_id: string): string;
  /** Returns true if this person was the target of a merge with legal ids. */
  isIdentified(leader: string): boolean;
  /** Counts the other distinct ids of this person. */
  countOthers(leader: string): number;
};

/**
 * The decision on a merge. `identifies`: the person of the event's distinct id counts as identified
 * from now on, even if no other one was merged into it.
 */
export type MergeVerdict =
  | { kind: 'merge'; from: string; into: string; identifies: true }
  | { kind: 'nothing'; identifies: boolean }
  | { kind: 'refused'; reason: IdentityWarningReason; identifies: boolean };

/**
 * Applies the rules of merging: the person of the other id joins the person of the event's own
 * distinct id. Exceptions: an id is illegal, both are one already, or the other one is identified
 * and the merge is not forced.
 */
export function judgeMerge(
  distinct_id: string,
  { other, is_forced }: MergeAsk,
  identities: Identities,
): MergeVerdict {
  if (other === distinct_id) return { kind: 'nothing', identifies: false };
  if (isIllegalId(distinct_id) || isIllegalId(other))
    return { kind: 'refused', reason: 'merge_of_illegal_id', identifies: false };
  const [from, into] = [identities.leaderOf(other), identities.leaderOf(distinct_id)];
  if (from === into) return { kind: 'nothing', identifies: true };
  if (identities.isIdentified(from) && !is_forced)
    return { kind: 'refused', reason: 'merge_of_identified', identifies: true };
  if (identities.countOthers(from) >= moved_ids_max)
    return { kind: 'refused', reason: 'merge_of_too_many_ids', identifies: true };
  return { kind: 'merge', from, into, identifies: true };
}
