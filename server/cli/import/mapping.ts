import { Temporal } from 'temporal-polyfill';
import { v5 } from 'uuid';
import { isJsonObject, parseExact } from '../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { isUuid } from '../../platform/uuid.ts';
import { formatFields, openRows } from './formats.ts';
import type { EventFields, ImportFormat } from './formats.ts';
import { hasZone, isExactInstant, readForeignInstant } from './instant.ts';
import { joinOf, scalarText } from './joins.ts';
import { foreign_id_namespace, Unmappable } from './unmappable.ts';
import { WrongUsageError } from '../user_error.ts';

/**
 * The mapping of a file's lines to events. Fields are names, or paths with dots into nested
 * objects; the defaults are the names of an event's own fields.
 */
export type ImportMapping = {
  /** The product that exported the lines, where they are more than fields with other names. */
  format?: ImportFormat | undefined;
  /** The event name of every line; goes before `event_field`. */
  event_name?: string | undefined;
  /** Default `event`. */
  event_field?: string | undefined;
  /** Default `distinct_id`. Of several, separated by commas, the first that is not empty. */
  distinct_id_field?: string | undefined;
  /**
   * The distinct id of lines in which that field is missing, null or empty; without it such lines
   * are refused.
   */
  distinct_id_default?: string | undefined;
  /** Default `timestamp`, which may be missing in a line; a field named here may not. */
  timestamp_field?: string | undefined;
  /** Default `uuid`, likewise. */
  uuid_field?: string | undefined;
  /** IANA zone of timestamps that have none. */
  timezone: string;
};

/**
 * A line as the server takes it, or why it cannot become an event. `renamed`: fields that stood
 * beside an object `properties` which has another value under the same name, with the names that
 * they got. `join`: an event to send before it, which joins its two ids; once for each pair.
 */
export type MappedLine =
  | { json: string; join?: string | undefined; renamed: [string, string][]; problem?: undefined }
  | { json?: undefined; problem: string };

/** Throws a `UserError` for a mapping with which no line could be read. */
export function checkMapping({ timezone }: ImportMapping): void {
  try {
    Temporal.PlainDateTime.from('2000-01-01').toZonedDateTime(timezone);
  } catch {
    throw new WrongUsageError(
      `There is no time zone "${timezone}". --timezone takes a name such as Europe/Berlin, or ` +
        'an offset such as +02:00.',
    );
  }
}

/**
 * The mapping as the options that ask for it, without those that are defaults: equal texts read a
 * line in the same way.
 */
export function describeMapping(mapping: ImportMapping): string {
  const fields = fieldsOf(mapping);
  const usual = formatFields(mapping.format);
  const named = (name: keyof EventFields) =>
    fields[name] === usual[name] ? undefined : fields[name];
  const options = [
    ['--from', mapping.format],
    ['--event-name', mapping.event_name],
    ['--event-field', named('event')],
    ['--distinct-id-field', named('distinct_id')],
    ['--distinct-id-default', mapping.distinct_id_default],
    ['--timestamp-field', named('timestamp')],
    ['--uuid-field', named('uuid')],
    ['--timezone', mapping.timezone === 'UTC' ? undefined : mapping.timezone],
  ];
  const asked = options.filter(([, value]) => value !== undefined);
  return asked.length === 0
    ? 'no option'
    : asked.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(' ');
}

/** Turns the lines of one file into events, in their order. */
export type LineMapper = (text: string, number: number) => MappedLine;

/**
 * Opens what turns each line into the event to send, always with a uuid: the line's own, or one
 * that only the file's content and the line's number decide, so that the same file can be sent
 * again. With the default fields the line must be an event already; with others, all fields that
 * have no place in an event become properties.
 */
export function openMapper(sha256: Buffer, mapping: ImportMapping): LineMapper {
  const read = openRows(mapping.format);
  const eventOf = isForeign(mapping) ? mapForeign : mapOwn;
  const joined = new Set<string>();
  return (text, number) => {
    let line: unknown;
    try {
      line = parseExact(text);
    } catch {
      return { problem: 'This is not valid JSON.' };
    }
    if (!isJsonObject(line)) return { problem: 'This is not a JSON object.' };
    try {
      const renamed: [string, string][] = [];
      const event = eventOf(read(line), mapping, renamed);
      const whole =
        event['uuid'] === undefined ? { ...event, uuid: lineUuid(sha256, number) } : event;
      const join = joinOf(line, event, mapping.format, joined);
      return { json: JSON.stringify(whole), join, renamed };
    } catch (error) {
      if (error instanceof Unmappable) return { problem: error.message };
      throw error;
    }
  };
}

/**
 * A version 8 UUID of a line: 82 bits of the file's SHA-256, then the line's number in the lowest
 * 40 bits, so that the lines of a file are neighbours in the store's order and are looked up
 * together.
 */
function lineUuid(sha256: Buffer, number: number): string {
  const bytes = Buffer.from(sha256.subarray(0, 16));
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  bytes.writeUIntBE(number % 2 ** 40, 11, 5);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const own_fields = formatFields(undefined);

function fieldsOf(mapping: ImportMapping): EventFields {
  const usual = formatFields(mapping.format);
  return {
    event: mapping.event_field ?? usual.event,
    distinct_id: mapping.distinct_id_field ?? usual.distinct_id,
    timestamp: mapping.timestamp_field ?? usual.timestamp,
    uuid: mapping.uuid_field ?? usual.uuid,
  };
}

function isForeign(mapping: ImportMapping): boolean {
  const fields = fieldsOf(mapping);
  return (
    mapping.event_name !== undefined ||
    Object.entries(own_fields).some(([name, own]) => fields[name as keyof EventFields] !== own)
  );
}

function mapForeign(
  line: JsonObject,
  mapping: ImportMapping,
  renamed: [string, string][],
): JsonObject {
  const fields = fieldsOf(mapping);
  const event = mapping.event_name ?? nameAt(line, fields.event);
  const id_field = idFieldOf(line, fields.distinct_id);
  const distinct_id = defaultDistinctId(line, mapping) ?? nameAt(line, id_field);
  const given = valueAt(line, fields.timestamp);
  const instant = scalarText(given);
  const timestamp = instant && readForeignInstant(instant, mapping.timezone);
  if (!timestamp && (given !== undefined || fields.timestamp !== own_fields.timestamp))
    throw new Unmappable(`The field "${fields.timestamp}" holds no timestamp.`);
  const id = scalarText(valueAt(line, fields.uuid));
  if (!id && fields.uuid !== own_fields.uuid)
    throw new Unmappable(`The field "${fields.uuid}" holds no id.`);
  // Fields that the event keeps whole: a field with more than the event keeps stays a property.
  const used = new Set([id_field]);
  if (mapping.event_name === undefined) used.add(fields.event);
  if (instant && isExactInstant(instant)) used.add(fields.timestamp);
  if (id && isUuid(id)) used.add(fields.uuid);
  return {
    event,
    distinct_id,
    ...(timestamp ? { timestamp } : {}),
    ...(id ? { uuid: uuidOf(id) } : {}),
    ...propertiesOf(line, used, renamed),
  };
}

/**
 * The fields that are not used up, beside what an object `properties` holds; `$set` and `$set_once`
 * as an event has them.
 */
function propertiesOf(
  line: JsonObject,
  used: Set<string>,
  renamed: [string, string][],
): { properties: JsonObject; $set?: unknown; $set_once?: unknown } {
  const given = line['properties'];
  const inside = isJsonObject(given) ? given : undefined;
  const properties: JsonObject = { ...inside };
  const persons: JsonObject = {};
  for (const [name, value] of Object.entries(line)) {
    if (used.has(name) || (name === 'properties' && inside !== undefined)) continue;
    if ((name === '$set' || name === '$set_once') && isJsonObject(value)) {
      persons[name] = value;
      continue;
    }
    let free = name;
    if (inside !== undefined && Object.hasOwn(inside, name)) {
      if (JSON.stringify(inside[name]) === JSON.stringify(value)) continue;
      while (Object.hasOwn(properties, free) || Object.hasOwn(line, free)) free = `_${free}`;
      renamed.push([name, free]);
    }
    properties[free] = value;
  }
  return { properties, ...persons };
}

/**
 * An event with what the server would not take converted: a number as a name, an instant without a
 * zone or as a number, an id that is no UUID. The server refuses the rest and says why.
 */
function mapOwn(line: JsonObject, mapping: ImportMapping): JsonObject {
  const event = { ...line };
  const name = defaultDistinctId(line, mapping) ?? scalarText(line['distinct_id']);
  if (name !== undefined) event['distinct_id'] = name;
  const given = scalarText(line['timestamp']);
  const instant =
    given === undefined || hasZone(given) ? undefined : readForeignInstant(given, mapping.timezone);
  if (instant !== undefined) event['timestamp'] = instant;
  const id = scalarText(line['uuid']);
  if (!id || isUuid(id)) return event;
  const properties = line['properties'] ?? {};
  event['uuid'] = uuidOf(id);
  if (isJsonObject(properties)) event['properties'] = { uuid: line['uuid'], ...properties };
  return event;
}

/**
 * The default where the line has no distinct id. A value that is there and is no name stays
 * refused.
 */
function defaultDistinctId(line: JsonObject, mapping: ImportMapping): string | undefined {
  const given = valueAt(line, idFieldOf(line, fieldsOf(mapping).distinct_id)) ?? '';
  return typeof given === 'string' && given.trim() === '' ? mapping.distinct_id_default : undefined;
}

/**
 * The field that names whose the line is: Amplitude has a `device_id` where it knows no `user_id`.
 * A field whose own name has a comma goes before.
 */
function idFieldOf(line: JsonObject, named: string): string {
  if (!named.includes(',') || Object.hasOwn(line, named)) return named;
  const fields = named.split(',').map((field) => field.trim());
  const isGiven = (field: string) => (scalarText(valueAt(line, field)) ?? '').trim() !== '';
  return fields.find(isGiven) ?? fields[0]!;
}

function uuidOf(id: string): string {
  return isUuid(id) ? id : v5(id, foreign_id_namespace);
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
