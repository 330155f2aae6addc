import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PropertyCount } from './count_window.ts';
import {
  event_properties_max,
  events_max,
  name_length_max,
  project_properties_max,
  withinBounds,
} from './within_bounds.ts';
import type { KnownNames } from './within_bounds.ts';

const seen = { first: 0, last: 0 };
const of = (event: string, property: string, events = 1): PropertyCount => ({
  event,
  property,
  kind: 'text',
  events,
  ...seen,
});
const counts = (
  events: Record<string, number>,
  properties: PropertyCount[] = [],
  total = Object.values(events).reduce((sum, one) => sum + one, 0),
): Parameters<typeof withinBounds>[1] => ({
  total,
  events: Object.entries(events).map(([event, many]) => ({
    event,
    day: '2026-11-29',
    events: many,
    ...seen,
  })),
  properties,
});
const many = (number: number, prefix = 'k') =>
  Array.from({ length: number }, (_, index) => `${prefix}${index}`);
const knows = (events: string[], properties: Record<string, string[]> = {}): KnownNames => ({
  events: new Set(events),
  properties: new Map(Object.entries(properties).map(([event, names]) => [event, new Set(names)])),
});

test('everything has a row while there is room', () => {
  const given = counts({ a: 2, b: 1 }, [of('a', 'x', 2), of('b', 'x')]);
  assert.deepEqual(withinBounds(knows([]), given), {
    events: given.events,
    properties: given.properties,
    other_events: 0,
    other_values: 0,
  });
});

test('known events keep their place, and the most frequent new ones get the rest', () => {
  const known = knows(['rare', ...many(events_max - 2)]);
  const given = counts({ new: 3, newer: 9, rare: 1 }, [of('new', 'x', 3), of('rare', 'x')], 14);
  const { events, properties, other_events } = withinBounds(known, given);
  assert.deepEqual(
    events.map(({ event }) => event),
    ['newer', 'rare'],
  );
  // With the one that the store left out.
  assert.equal(other_events, 4);
  assert.deepEqual(
    properties.map(({ event }) => event),
    ['', 'rare'],
  );
});

test('the properties of an event and of a project are bounded, and the rest is counted', () => {
  const names = many(event_properties_max - 1);
  const one = counts({ e: 9 }, [of('e', 'seldom', 1), of('e', 'often', 8), of('e', 'k0', 2)]);
  const full = withinBounds(knows(['e'], { e: names }), one);
  assert.deepEqual(
    full.properties.map(({ property }) => property),
    ['often', 'k0'],
  );
  assert.equal(full.other_values, 1);

  const events = many(project_properties_max / event_properties_max, 'e');
  const everywhere = Object.fromEntries(events.map((event) => [event, many(event_properties_max)]));
  const later = counts({ late: 5, e0: 1 }, [of('late', 'x', 5), of('e0', 'k0')]);
  const project = withinBounds(knows([...events, 'late'], everywhere), later);
  assert.deepEqual(project.properties, [of('e0', 'k0')]);
  assert.equal(project.other_values, 5);
});

test('names are storable, and too long or empty ones have no row', () => {
  const long = 'x'.repeat(name_length_max + 1);
  const given = counts({ [long]: 2, 'a\0b\uD800': 1 }, [
    of(long, 'x', 2),
    of('a\0b\uD800', long),
    of('a\0b\uD800', ''),
  ]);
  const { events, properties, ...others } = withinBounds(knows([]), given);
  assert.deepEqual(
    events.map(({ event }) => event),
    ['a\uFFFDb\uFFFD'],
  );
  assert.deepEqual(properties, [of('', 'x', 2)]);
  assert.deepEqual(others, { other_events: 2, other_values: 2 });
});
