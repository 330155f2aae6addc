import { v5 } from 'uuid';
import { isJsonObject, parseExact } from '../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { foreign_id_namespace, Unmappable } from './unmappable.ts';

/** An export of another product whose rows are more than fields with other names. */
export type ImportFormat = 'mixpanel' | 'ga4';

/** The names of the four fields of an event. */
export type EventFields = Record<'event' | 'distinct_id' | 'timestamp' | 'uuid', string>;

const own_fields: EventFields = {
  event: 'event',
  distinct_id: 'distinct_id',
  timestamp: 'timestamp',
  uuid: 'uuid',
};

/** The fields of a row, as `readFormat` gives it: without a format those of an event. */
export function formatFields(format: ImportFormat | undefined): EventFields {
  return format === 'ga4'
    ? {
        event: 'event_name',
        distinct_id: 'user_id,user_pseudo_id',
        timestamp: 'event_timestamp',
        uuid: 'uuid',
      }
    : own_fields;
}

/**
 * A row of the format as a line that has the format's fields at its top and `properties` beside
 * them. Throws what says why it cannot become an event.
 */
export function readFormat(row: JsonObject, format: ImportFormat | undefined): JsonObject {
  if (format === 'mixpanel') return readMixpanel(row);
  return format === 'ga4' ? readGa4(row) : row;
}

/** The format that the JSON of a line seems to have. */
export function suggestFormat(json: string): ImportFormat | undefined {
  if (json.includes('"event_params":[')) return 'ga4';
  return /"(\$identified_id|\$distinct_ids|mp_processing_time_ms)":/.test(json)
    ? 'mixpanel'
    : undefined;
}

/**
 * Mixpanel takes two events for one that agree in name, distinct id, time and `$insert_id`, and so
 * do we. The events that join persons get the names under which ours do the same.
 */
function readMixpanel({ event, properties }: JsonObject): JsonObject {
  if (!isJsonObject(properties)) throw new Unmappable('The field "properties" is no object.');
  const { distinct_id, time, ...rest } = properties;
  if (time === undefined || time === null)
    throw new Unmappable('The field "properties.time" is missing or empty.');
  const insert_id = rest['$insert_id'];
  const named = JSON.stringify([event, distinct_id, time, insert_id]);
  return {
    event,
    distinct_id,
    timestamp: time,
    ...(typeof insert_id === 'string' ? { uuid: v5(named, foreign_id_namespace) } : {}),
    properties: rest,
    ...joinOf(event, properties),
  };
}

function joinOf(event: unknown, properties: JsonObject): JsonObject {
  const { distinct_id, time: _time, ...rest } = properties;
  if (event === '$identify') {
    const user = rest['$identified_id'] ?? distinct_id;
    const visitor = rest['$anon_id'] ?? rest['$anon_distinct_id'];
    if (visitor === undefined || visitor === null)
      throw new Unmappable('This $identify names no "$anon_id": there is nobody to join.');
    return { distinct_id: user, properties: { ...rest, $anon_distinct_id: visitor } };
  }
  if (event !== '$merge') return {};
  const ids = rest['$distinct_ids'];
  if (!Array.isArray(ids) || ids.length !== 2)
    throw new Unmappable('This $merge does not name two ids in "$distinct_ids".');
  const [into, other] = ids as unknown[];
  return {
    event: '$merge_dangerously',
    distinct_id: into,
    properties: { ...rest, alias: other },
  };
}

/** The parameters of the event become properties, and `user_properties` an object. */
function readGa4(row: JsonObject): JsonObject {
  const { event_params, user_properties, ...rest } = row;
  return {
    ...rest,
    ...(user_properties === undefined
      ? {}
      : { user_properties: ga4Values(user_properties, 'user_properties') }),
    properties: ga4Values(event_params ?? [], 'event_params'),
  };
}

function ga4Values(list: unknown, field: string): JsonObject {
  if (!Array.isArray(list)) throw new Unmappable(`The field "${field}" is no list.`);
  return Object.fromEntries(
    list.map((entry: unknown) => {
      const { key, value } = isJsonObject(entry) ? entry : {};
      if (typeof key !== 'string')
        throw new Unmappable(`The field "${field}" has an entry without a "key".`);
      return [key, isJsonObject(value) ? ga4Value(value) : (value ?? null)];
    }),
  );
}

/** The one that is given of four; BigQuery writes whole numbers as texts. */
function ga4Value(value: JsonObject): unknown {
  const text = value['string_value'] ?? undefined;
  if (text !== undefined) return text;
  const number = value['int_value'] ?? value['double_value'] ?? value['float_value'] ?? null;
  return typeof number === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(number)
    ? (parseExact(`[${number}]`) as unknown[])[0]
    : number;
}
