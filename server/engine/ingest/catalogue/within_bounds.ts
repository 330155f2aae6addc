import type { EventCount, PropertyCount, WindowCounts } from './count_window.ts';

/** Most events of a project with a row of their own, by name. */
export const events_max = 1_000;
/** Most properties of one event with rows. */
export const event_properties_max = 500;
/** Most properties of all events of a project, each event counted separately. */
export const project_properties_max = 20_000;
/** Longest name, in characters. */
export const name_length_max = 400;
/** The name under which the properties of all other events are counted; no event has it. */
const other_event = '';

/** The names in a project's catalogue: properties by event. */
export type KnownNames = { events: Set<string>; properties: Map<string, Set<string>> };

/** The counts of a window with a row, and the number of others. */
export type BoundedCounts = {
  events: EventCount[];
  properties: PropertyCount[];
  other_events: number;
  other_values: number;
};

/**
 * Returns the counts of a window within the bounds of the catalogue. Known names keep their place.
 * New ones are added while there is room, the most frequent first. Properties of events without a
 * place are counted together under `other_event`.
 */
export function withinBounds(
  known: KnownNames,
  counts: Pick<WindowCounts, 'total' | 'events' | 'properties'>,
): BoundedCounts {
  const named = counts.events.map((one) => ({ ...one, event: storable(one.event) }));
  const events = admitted(known.events, sumBy(named, 'event'), events_max);
  const kept = named.filter(({ event }) => events.has(event));
  const properties = counts.properties.map((one) => {
    const event = storable(one.event);
    return {
      ...one,
      event: events.has(event) ? event : other_event,
      property: storable(one.property),
    };
  });
  const known_count = [...known.properties.values()].reduce((sum, { size }) => sum + size, 0);
  const admits = propertiesOf(known, properties, project_properties_max - known_count);
  const [inside, outside] = [true, false].map((is_inside) =>
    properties.filter(
      ({ event, property }) => (admits.get(event)?.has(property) ?? false) === is_inside,
    ),
  );
  return {
    events: kept,
    properties: inside!,
    other_events: counts.total - total(kept),
    other_values: total(outside!),
  };
}

/** Returns the properties that have a place, by event. */
function propertiesOf(
  known: KnownNames,
  counts: PropertyCount[],
  room: number,
): Map<string, Set<string>> {
  const byEvent = Map.groupBy(counts, ({ event }) => event);
  let left = room;
  return new Map(
    [...byEvent].map(([event, those]) => {
      const before = known.properties.get(event) ?? new Set();
      const most = Math.min(event_properties_max, before.size + left);
      const names = admitted(before, sumBy(those, 'property'), most);
      left -= names.size - before.size;
      return [event, names];
    }),
  );
}

/** Returns the known names and, while there is room, the most frequent others. */
function admitted(known: Set<string>, found: Map<string, number>, most: number): Set<string> {
  const fresh = [...found]
    .filter(([name]) => !known.has(name) && name.length <= name_length_max && name !== '')
    .toSorted(([one, events], [other, others]) => others - events || (one < other ? -1 : 1))
    .slice(0, Math.max(0, most - known.size));
  return new Set([...known, ...fresh.map(([name]) => name)]);
}

function sumBy<Name extends string>(
  counts: (Record<Name, string> & { events: number })[],
  name: Name,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const one of counts) sums.set(one[name], (sums.get(one[name]) ?? 0) + one.events);
  return sums;
}

function total(counts: { events: number }[]): number {
  return counts.reduce((sum, { events }) => sum + events, 0);
}

/** Returns a name in a form that PostgreSQL can store. */
function storable(name: string): string {
  return name.replaceAll('\0', '\uFFFD').toWellFormed();
}
