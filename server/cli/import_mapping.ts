import { Temporal } from 'temporal-polyfill';
import { v5 } from 'uuid';
import { isJsonObject, parseExact } from '../engine/ingest/exact_json.ts';
import type { JsonObject } from '../engine/ingest/exact_json.ts';
import { isoInstant } from '../platform/clock.ts';

/** How the lines of a file become events. Fields are names, or paths with dots into nested objects; the defaults are the names of an event's own fields. */
export type ImportMapping = {
  /** The event name of every line; goes before `event_field`. */
  event_name?: string | undefined;
  /** Default `event`. */
  event_field?: string | undefined;
  /** Default `distinct_id`. */
  distinct_id_field?: string | undefined;
  /** The distinct id of lines in which that field is missing, null or empty; without it such lines are refused. */
  distinct_id_default?: string | undefined;
  /** Default `timestamp`, which may be missing in a line; a field named here may not. */
  timestamp_field?: string | undefined;
  /** Default `uuid`, likewise. */
  uuid_field?: string | undefined;
  /** IANA zone of timestamps that have none. */
  timezone: string;
};

/** A line as the server takes it, or why it cannot become an event. */
export type MappedLine =
  | { json: string; problem?: undefined }
  | { json?: undefined; problem: string };

// Ids of foreign systems become uuids under this namespace, the same for every import.
const foreign_id_namespace = '2f3f7c0e-8a54-5a3e-9d55-6a7d1d0f3a27';
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const zonePattern = /(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$/;
const datePattern = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Turns one line into the event to send, always with a uuid: the line's own, or one that only the file's content and the line's number decide, so that the same file can be sent
 * again. With the default fields the line must be an event already; with others, all fields that have no place in an event become properties.
 */
export function mapLine(
  text: string,
  number: number,
  sha256: Buffer,
  mapping: ImportMapping,
): MappedLine {
  let line: unknown;
  try {
    line = parseExact(text);
  } catch {
    return { problem: 'This is not valid JSON.' };
  }
  if (!isJsonObject(line)) return { problem: 'This is not a JSON object.' };
  try {
    const event = isForeign(mapping) ? mapForeign(line, mapping) : withDistinctId(line, mapping);
    return {
      json: JSON.stringify(
        event['uuid'] === undefined ? { ...event, uuid: lineUuid(sha256, number) } : event,
      ),
    };
  } catch (error) {
    if (error instanceof Unmappable) return { problem: error.message };
    throw error;
  }
}

/**
 * A version 8 UUID of a line: 82 bits of the file's SHA-256, then the line's number in the lowest 40 bits, so that the lines of a file are neighbours in the
 * store's order and are looked up together.
 */
function lineUuid(sha256: Buffer, number: number): string {
  const bytes = Buffer.from(sha256.subarray(0, 16));
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  bytes.writeUIntBE(number % 2 ** 40, 11, 5);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** An instant as foreign files write it (ISO text with or without a zone, a date, seconds, milliseconds or microseconds since 1970) as ISO 8601 with `Z`; undefined when it is none. */
function readForeignInstant(value: unknown, timezone: string): string | undefined {
  const text = scalarText(value)?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^-?\d+(\.\d+)?$/.test(text)) return epochInstant(text);
  const whole = datePattern.test(text) ? `${text}T00:00:00` : text.replace(' ', 'T');
  if (zonePattern.test(whole.slice(10))) return whole.replace(/ (?=[+-]\d{2})/, '');
  if (timezone === 'UTC') return `${whole}Z`;
  try {
    return Temporal.PlainDateTime.from(whole).toZonedDateTime(timezone).toInstant().toString();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

class Unmappable extends Error {}

const own_fields = {
  event: 'event',
  distinct_id: 'distinct_id',
  timestamp: 'timestamp',
  uuid: 'uuid',
};

function fieldsOf(mapping: ImportMapping): typeof own_fields {
  return {
    event: mapping.event_field ?? own_fields.event,
    distinct_id: mapping.distinct_id_field ?? own_fields.distinct_id,
    timestamp: mapping.timestamp_field ?? own_fields.timestamp,
    uuid: mapping.uuid_field ?? own_fields.uuid,
  };
}

function isForeign(mapping: ImportMapping): boolean {
  const fields = fieldsOf(mapping);
  return (
    mapping.event_name !== undefined ||
    Object.entries(own_fields).some(
      ([name, own]) => fields[name as keyof typeof own_fields] !== own,
    )
  );
}

function mapForeign(line: JsonObject, mapping: ImportMapping): JsonObject {
  const fields = fieldsOf(mapping);
  const event = mapping.event_name ?? nameAt(line, fields.event);
  const distinct_id = defaultDistinctId(line, mapping) ?? nameAt(line, fields.distinct_id);
  const given = valueAt(line, fields.timestamp);
  const timestamp = readForeignInstant(given, mapping.timezone);
  if (timestamp === undefined && (given !== undefined || fields.timestamp !== own_fields.timestamp))
    throw new Unmappable(`The field "${fields.timestamp}" holds no timestamp.`);
  const used = new Set(
    [
      mapping.event_name === undefined ? fields.event : '',
      fields.distinct_id,
      fields.timestamp,
      fields.uuid,
    ].filter((field) => Object.hasOwn(line, field)),
  );
  const rest = Object.entries(line).filter(([name]) => !used.has(name) && name !== 'properties');
  const own = line['properties'];
  const properties = {
    ...Object.fromEntries(rest),
    ...(isJsonObject(own) ? own : own === undefined ? {} : { properties: own }),
  };
  return {
    event,
    distinct_id,
    ...(timestamp === undefined ? {} : { timestamp }),
    ...foreignUuid(line, fields.uuid),
    properties,
  };
}

function withDistinctId(line: JsonObject, mapping: ImportMapping): JsonObject {
  const distinct_id = defaultDistinctId(line, mapping);
  return distinct_id === undefined ? line : { ...line, distinct_id };
}

/** The default where the line has no distinct id. A value that is there and is no name stays refused. */
function defaultDistinctId(line: JsonObject, mapping: ImportMapping): string | undefined {
  const given = valueAt(line, fieldsOf(mapping).distinct_id) ?? '';
  return typeof given === 'string' && given.trim() === '' ? mapping.distinct_id_default : undefined;
}

function foreignUuid(line: JsonObject, field: string): { uuid?: string } {
  const id = scalarText(valueAt(line, field));
  if (id !== undefined && id !== '')
    return { uuid: uuidPattern.test(id) ? id : v5(id, foreign_id_namespace) };
  if (field !== own_fields.uuid) throw new Unmappable(`The field "${field}" holds no id.`);
  return {};
}

function nameAt(line: JsonObject, field: string): string {
  const text = scalarText(valueAt(line, field));
  if (text === undefined || text.trim() === '')
    throw new Unmappable(`The field "${field}" is missing or empty.`);
  return text;
}

/** A field by its name, else by its path: `actor.login`. */
function valueAt(line: JsonObject, field: string): unknown {
  if (Object.hasOwn(line, field)) return line[field];
  let value: unknown = line;
  for (const step of field.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** A string as it is, a number as it is written in the file; undefined for everything else. */
function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const isNumber =
    typeof value === 'number' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonObject(value));
  return isNumber ? JSON.stringify(value) : undefined;
}

function epochInstant(text: string): string | undefined {
  const magnitude = Math.abs(Number(text));
  const exponent = magnitude < 1e11 ? 6 : magnitude < 1e14 ? 3 : 0;
  const [whole = '0', fraction = ''] = text.split('.');
  const microseconds = BigInt(whole + fraction.padEnd(exponent, '0').slice(0, exponent));
  if (microseconds < 0n) return undefined;
  const milliseconds = microseconds / 1000n;
  if (milliseconds > 8_000_000_000_000n) return undefined;
  return `${isoInstant(Number(milliseconds)).slice(0, -1)}${String(microseconds % 1000n).padStart(3, '0')}Z`;
}
