import type { IncomingEvent } from '../parse/event.ts';
import type { Person } from './person.ts';
import type { PersonStore } from './person_store.ts';

/**
 * The stored persons that a batch may change: by distinct id, with the other distinct ids of a
 * person that it may move as a whole.
 */
export type LoadedPersons = { persons: Map<string, Person>; others: Map<string, string[]> };

/**
 * Loads the persons of the events' distinct ids, of the ids to merge, and their owners. A forced
 * merge must be the first of the events. Persons without merges cost one look-up together, and none
 * if they are cached.
 */
export async function loadPersons(
  store: PersonStore,
  teamId: number,
  generation: number,
  events: IncomingEvent[],
  signal: AbortSignal,
): Promise<LoadedPersons> {
  const load = (distinctIds: Iterable<string>) =>
    store.load(teamId, generation, distinctIds, signal);
  const wanted = new Set<string>();
  for (const { distinct_id, merge } of events) {
    wanted.add(distinct_id);
    if (merge !== undefined) wanted.add(merge.other);
  }
  const persons = await load(wanted);
  const leaders = new Set<string>();
  for (const { merged_into } of persons.values())
    if (merged_into !== '' && !wanted.has(merged_into)) leaders.add(merged_into);
  if (leaders.size > 0) for (const [id, person] of await load(leaders)) persons.set(id, person);
  const [first] = events;
  if (first?.merge?.is_forced !== true) return { persons, others: new Map() };
  // Only identified persons have other distinct ids, and only a forced merge moves them.
  const moved = persons.get(first.merge.other)?.merged_into || first.merge.other;
  if (persons.get(moved)?.is_identified !== 1) return { persons, others: new Map() };
  const others = await store.findOthers(teamId, moved, signal);
  for (const [id, person] of await load(others)) persons.set(id, person);
  return { persons, others: new Map([[moved, others]]) };
}
