import { createHash } from 'node:crypto';

/**
 * The part of an event that a user sends and that every destination carries. `properties` is JSON
 * text or a parsed value.
 */
export type EventRow = {
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: unknown;
};

/**
 * Returns equal digests for equal events, however a store spells instants and orders the keys of
 * JSON.
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

/** Milliseconds since the epoch; stores omit UTC or write `+00`. */
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
