import type { IncomingEvent } from './event.ts';
import type { Person } from './person.ts';
import type { PersonStore } from './person_store.ts';

/**
 * What of the stored persons a batch may touch: by distinct id, and the other distinct ids of those
 * that an event may move as a whole.
 */
export type LoadedPersons = { persons: Map<string, Person>; others: Map<string, string[]> };

/**
 * Loads the persons of the events' distinct ids, of those that they want merged, and those whom
 * they all belong to. Persons whose distinct ids belong to themselves cost one look-up for all of
 * them together, and none where they are remembered.
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
  const others = new Map<string, string[]>();
  if (!events.some(({ merge }) => merge?.is_forced === true)) return { persons, others };
  // Only identified persons have other distinct ids, and only a forced merge moves them.
  const found = await store.findOthers(teamId, movedLeaders(events, persons), signal);
  for (const [id, person] of await load(found)) {
    persons.set(id, person);
    const { merged_into } = person;
    const known = others.get(merged_into);
    if (known === undefined) others.set(merged_into, [id]);
    else known.push(id);
  }
  return { persons, others };
}

/** The persons that a merge of the batch may concern, whatever comes before it in the batch. */
function movedLeaders(events: IncomingEvent[], persons: Map<string, Person>): string[] {
  const leaders = new Set<string>();
  for (const { distinct_id, merge } of events) {
    if (merge === undefined) continue;
    for (const id of [distinct_id, merge.other]) leaders.add(persons.get(id)?.merged_into || id);
  }
  return [...leaders].filter((leader) => persons.get(leader)?.is_identified === 1);
}
