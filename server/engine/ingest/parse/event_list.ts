import { isUtf8 } from 'node:buffer';
import { findJsonFault } from '../../../platform/json/json_scan.ts';
import type { JsonPlace } from '../../../platform/json/json_scan.ts';
import { countValues } from './count_values.ts';
import { isJsonObject, parseExact } from './exact_json.ts';

/** Faults of a body that is no list of events. */
export type ListFault =
  | 'not_utf8'
  | 'too_many'
  | 'not_json'
  | 'too_deep'
  | 'not_an_object'
  | 'required'
  | 'null'
  | 'not_a_list';

/**
 * The unchecked values of a list of events. A single event is a list of one, with `is_list` false.
 */
export type EventList = { values: unknown[]; is_list: boolean };

/**
 * Most names and values in one body or line: 20 MiB of events have a million. Ten times as many
 * would need gigabytes as objects.
 */
export const values_max = 2_000_000;

/** The fault of a whole body, with its place for `not_json`. */
export type FaultyList = { fault: ListFault; place?: JsonPlace | undefined };

/**
 * Returns true if the JSON text has more names and values than a body or line of events may have.
 * Shorter texts cannot.
 */
export function holdsTooMuch(text: string): boolean {
  return text.length > values_max && countValues(text) > values_max;
}

/**
 * Reads the JSON of a body: `{"events": [...]}` or one event. Never throws because of the content.
 */
export function readEventList(bytes: Uint8Array): EventList | FaultyList {
  if (!isUtf8(bytes)) return { fault: 'not_utf8' };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (holdsTooMuch(text)) return { fault: 'too_many' };
  let body: unknown;
  try {
    body = parseExact(text);
  } catch (error) {
    if (error instanceof RangeError) return { fault: 'too_deep' };
    return { fault: 'not_json', place: findJsonFault(text) };
  }
  if (!isJsonObject(body)) return { fault: 'not_an_object' };
  const { events } = body;
  if (Array.isArray(events)) return { values: events, is_list: true };
  if (events === undefined && body['event'] !== undefined)
    return { values: [body], is_list: false };
  if (events === undefined) return { fault: 'required' };
  return { fault: events === null ? 'null' : 'not_a_list' };
}
