import { createHash } from 'node:crypto';

/**
 * The part of an event that a user sends and that every destination carries. `properties` is JSON
 * text or what was read from it.
 */
export type EventRow = {
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: unknown;
};

/**
 * Equal for events that are the same, however a store spells its instants and orders the keys of
 * its JSON.
 */
export function rowDigest(row: EventRow): string {
  const properties: unknown =
    typeof row.properties === 'string' ? JSON.parse(row.properties) : row.properties;
  return createHash('md5')
    .update(
      JSON.stringify([row.event, row.distinct_id, instantOf(row.timestamp), ordered(properties)]),
    )
    .digest('base64');
}

/** Milliseconds since the epoch; stores leave UTC out or spell it `+00`. */
export function instantOf(text: string): number {
  const plain = text.replace(' ', 'T').replace(/\+00(:00)?$/, 'Z');
  return Date.parse(plain.endsWith('Z') ? plain : `${plain}Z`);
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, ordered(inner)]),
  );
}
