import type { TextRow } from '../made_of_events/deliveries.ts';
import type { Call } from './histories.ts';

/**
 * Orders calls by time; of equal times the smaller uuid is earlier, whatever the order of arrival.
 */
function inOrder(one: Call, other: Call): number {
  return one.at - other.at || (one.uuid < other.uuid ? -1 : one.uuid > other.uuid ? 1 : 0);
}

/** The last call that set each property. */
function setters(calls: Call[]): Map<string, Call> {
  const last = new Map<string, Call>();
  for (const call of calls.toSorted(inOrder))
    for (const name of Object.keys(call.set)) last.set(name, call);
  return last;
}

/**
 * Computes the row of a group from these calls and removals (microseconds) by the rules of
 * docs/groups.md. It is plain code, independent of the store's statement. `properties` are pairs of
 * names and JSON texts, by name.
 */
export function plainGroup(id: string, calls: Call[], removals: number[]): TextRow {
  const colon = id.indexOf(':');
  const pairs = Array.from(setters(calls), ([name, { set }]) => [name, set[name]!]);
  const changed = Math.max(...calls.map(({ taken }) => taken), ...removals);
  return {
    group_id: id,
    group_type: id.slice(0, colon),
    group_key: id.slice(colon + 1),
    properties: JSON.stringify(pairs.sort()),
    created_at: calls.length === 0 ? null : String(Math.min(...calls.map(({ at }) => at))),
    group_version: String(changed),
    is_deleted: String(calls.length === 0),
    inserted_at: String(changed),
  };
}

/**
 * Returns the calls that a group needs: its first one, the setters of its properties, the last to
 * arrive.
 */
export function neededCalls(calls: Call[]): Set<string> {
  const [first] = calls.toSorted(inOrder);
  const [newest] = calls.toSorted(
    (one, other) => other.taken - one.taken || (one.uuid < other.uuid ? 1 : -1),
  );
  const needed = [first, newest, ...setters(calls).values()];
  return new Set(needed.flatMap((call) => (call === undefined ? [] : [call.uuid])));
}
