import type { FoundExport } from '../../../server/api/batch_exports/find/schema.ts';
import type { State } from '../state.ts';

type FoundState = FoundExport['state'];

/** Exports with equal states that are listed; more are folded. */
const listed_max = 3;

/** States of a record in an export; states that need attention come first. */
export const found_states: Record<FoundState, State> = {
  failed: { word: 'Failed', tone: 'bad' },
  missing: { word: 'Missing', tone: 'bad' },
  in_doubt: { word: 'In doubt', tone: 'warn' },
  not_told: { word: 'Cannot be told', tone: 'warn' },
  under_way: { word: 'In progress', tone: 'muted', shape: 'play' },
  delivered: { word: 'Delivered', tone: 'good' },
  waiting: { word: 'Waiting', tone: 'muted', shape: 'glass' },
  excluded: { word: 'Excluded', tone: 'muted' },
  not_in_query: { word: 'Not in the query', tone: 'muted' },
  not_in_model: { word: 'Another model', tone: 'muted' },
  rejected: { word: 'Refused by the destination, set aside', tone: 'warn' },
  superseded: { word: 'Superseded', tone: 'muted' },
  outside: { word: 'Outside of the schedule', tone: 'muted' },
};
const never_folded: FoundState[] = ['failed', 'missing', 'in_doubt', 'not_told', 'under_way'];

/** Groups the exports of a record by state, and folds long groups without trouble. */
export function groupsOf<Found extends { state: FoundState }>(
  exports: Found[],
): { state: FoundState; exports: Found[]; is_folded: boolean }[] {
  return (Object.keys(found_states) as FoundState[])
    .map((state) => ({ state, exports: exports.filter((one) => one.state === state) }))
    .filter((group) => group.exports.length > 0)
    .map((group) => ({
      ...group,
      is_folded: group.exports.length > listed_max && !never_folded.includes(group.state),
    }));
}

/** Returns true if the text has the form of an event's uuid; other texts are not searched. */
export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text.trim());
}
