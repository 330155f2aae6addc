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
  /** The product that exported the lines, if they differ from events in more than field names. */
  format?: ImportFormat | undefined;
  /** The event name of every line; precedes `event_field`. */
  event_name?: string | undefined;
  /** Default `event`. */
  event_field?: string | undefined;
  /** Default `distinct_id`. Of several, separated by commas, the first that is not empty counts. */
  distinct_id_field?: string | undefined;
  /** The distinct id of lines without this field; without a default, such lines are refused. */
  distinct_id_default?: string | undefined;
  /** Default `timestamp`, which lines may lack; a field named here is required. */
  timestamp_field?: string | undefined;
  /** Default `uuid`, with the same rule. */
  uuid_field?: string | undefined;
  /** IANA zone of timestamps without a zone. */
  timezone: string;
};

/**
 * A line in the server's form, or why it cannot become an event. `renamed`: fields that got a new
 * name because the object `properties` has another value under the old one. `join`: an event to
 * send before, which joins the line's two ids, once for each pair.
 */
export type MappedLine =
  | { json: string; join?: string | undefined; renamed: [string, string][]; problem?: undefined }
  | { json?: undefined; problem: string };

/** Throws a `UserError` for a mapping that no line could use. */
export function checkMapping({ timezone }: ImportMapping): void {
  try {
    Temporal.PlainDateTime.from('2000-01-01').toZonedDateTime(timezone);
  } catch {
    throw new WrongUsageError(
      `There is no time zone "${timezone}". --timezone needs a name such as Europe/Berlin, ` +
        'or an offset such as +02:00.',
    );
  }
}

/** Returns the mapping as its options without defaults: equal texts read a line in the same way. */
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

/** Turns the lines of one file into events, in order. */
export type LineMapper = (text: string, number: number) => MappedLine;

/**
 * Opens the function that turns each line into an event. It always has a uuid: the line's own, or
 * one derived from the file's content and the line's number, so that the file can be sent again.
 * With the default fields, a line must already be an event. With others, all fields without a place
 * in an event become properties.
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
 * Returns a version 8 UUID for a line: 82 bits of the file's SHA-256, then the line's number in the
 * lowest 40 bits. So the lines of a file are adjacent in the store's order and can be looked up
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
    throw new Unmappable(`The field "${fields.timestamp}" is not a timestamp.`);
  const id = scalarText(valueAt(line, fields.uuid));
  if (!id && fields.uuid !== own_fields.uuid)
    throw new Unmappable(`The field "${fields.uuid}" is not an id.`);
  // Fields that the event stores completely; a field with more content also stays a property.
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
 * Returns the unused fields, merged with an object `properties`; `$set` and `$set_once` as in an
 * event.
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
 * Returns an event with converted values: a number as a name, an instant without a zone or as a
 * number, an id that is no UUID. The server refuses other faults and says why.
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
 * Returns the default if the line has no distinct id. An existing value that is no valid id stays
 * refused.
 */
function defaultDistinctId(line: JsonObject, mapping: ImportMapping): string | undefined {
  const given = valueAt(line, idFieldOf(line, fieldsOf(mapping).distinct_id)) ?? '';
  return typeof given === 'string' && given.trim() === '' ? mapping.distinct_id_default : undefined;
}

/**
 * Returns the field with the distinct id; Amplitude has a `device_id` for an unknown `user_id`. A
 * field whose own name contains a comma takes precedence.
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

/** Returns a field by its name, or else by its path: `actor.login`. */
function valueAt(line: JsonObject, field: string): unknown {
  if (Object.hasOwn(line, field)) return line[field];
  let value: unknown = line;
  for (const step of field.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}
