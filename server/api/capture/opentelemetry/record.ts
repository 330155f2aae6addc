import type { JsonObject } from '../../../engine/ingest/parse/exact_json.ts';
import { isoInstant } from '../../../platform/clock.ts';

/** The parts that records or spans of one resource and scope share. */
export type Shared = { resource: JsonObject; scope: JsonObject };

/** Attributes that name a record or span, if its program sets them. */
export const id_names = ['event.id', 'log.record.uid'];

/** Returns the first named attribute that exists and is not empty. */
export function firstOf(attributes: JsonObject, names: readonly string[]): unknown {
  const name = names.find((one) => Object.hasOwn(attributes, one) && attributes[one] !== '');
  return name === undefined ? undefined : attributes[name];
}

/** Returns the id of a trace or span as hexadecimal text; undefined without one. */
export function idText(id: unknown): unknown {
  const text = id instanceof Uint8Array ? Buffer.from(id).toString('hex') : id;
  return text === '' ? undefined : text;
}

/** Returns nanoseconds since the epoch; undefined for 0 and for other values than numbers. */
export function nanosecondsOf(value: unknown): bigint | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^[1-9]\d{0,19}$/.test(text) ? BigInt(text) : undefined;
}

/**
 * Returns nanoseconds since the epoch as an instant with microseconds; undefined like
 * `nanosecondsOf`.
 */
export function instantOf(value: unknown): string | undefined {
  const nanoseconds = nanosecondsOf(value);
  if (nanoseconds === undefined) return undefined;
  const microseconds = nanoseconds / 1000n;
  const second = Number(microseconds / 1_000_000n);
  if (second > 8.64e12) return undefined;
  const fraction = String(microseconds % 1_000_000n).padStart(6, '0');
  return `${isoInstant(second * 1000).slice(0, 19)}.${fraction}Z`;
}
