import { isIllegalId } from './illegal_ids.ts';
import type { MergeAsk } from './merge_ask.ts';

/** Number of distinct ids that are moved at once: a merge is one block of the store. */
export const moved_ids_max = 2_000;

/** Why two persons were not merged, or not wholly. The list is closed: docs/persons.md has it. */
export const identity_warning_reasons = [
  'merge_of_identified',
  'merge_of_illegal_id',
  'merge_of_too_many_ids',
  'merged_properties_too_large',
  'person_too_large',
] as const;

/** One reason of the closed list. */
export type IdentityWarningReason = (typeof identity_warning_reasons)[number];

/** The rules' knowledge of the distinct ids. */
export type Identities = {
  /** The distinct id of the person to whom this one belongs; itself where nobody was merged. */
  leaderOf(distinct_id: string): string;
  /** Has this person been the target of a merge that was asked for by legal ids? */
  isIdentified(leader: string): boolean;
  /** Counts the other distinct ids of this person. */
  countOthers(leader: string): number;
};

/**
 * The verdict on a merge. `identifies`: the person of the event's distinct id is identified from
 * now on, whether another was merged into it or not.
 */
export type MergeVerdict =
  | { kind: 'merge'; from: string; into: string; identifies: true }
  | { kind: 'nothing'; identifies: boolean }
  | { kind: 'refused'; reason: IdentityWarningReason; identifies: boolean };

/**
 * The rules of merging: the person of the other id becomes a part of the person of the event's own
 * distinct id, unless an id is illegal, both are one already, or the other one is identified and
 * the merge is not forced.
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
