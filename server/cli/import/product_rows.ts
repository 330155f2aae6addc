import { v5 } from 'uuid';
import { isJsonObject, parseExact } from '../../engine/ingest/parse/exact_json.ts';
import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { isUuid } from '../../platform/uuid.ts';
import { foreign_id_namespace, Unmappable } from './unmappable.ts';

/** Columns of Amplitude that the event has elsewhere. */
const of_amplitude = ['event_properties', 'user_properties', 'groups', 'group_properties'];

/**
 * Reads a row of Amplitude. Its own `uuid` identifies an event; older rows have an `$insert_id`, by
 * which Amplitude recognizes a repeated event of a device.
 */
export function readAmplitude(row: JsonObject): JsonObject {
  const { event_type, user_id, device_id, uuid, $insert_id } = row;
  const rest = Object.entries(row).filter(
    ([name, value]) => value !== null && !of_amplitude.includes(name),
  );
  const distinct_id = [user_id, device_id, row['amplitude_id']].find(isGiven);
  const id = isGiven(uuid) ? uuid : namedBy([device_id, $insert_id], $insert_id);
  const set = isJsonObject(row['user_properties']) ? row['user_properties'] : {};
  const groups = groupsOf(row['groups']);
  const isGroup = event_type === '$groupidentify';
  return {
    ...Object.fromEntries(rest),
    distinct_id,
    uuid: id,
    properties: {
      ...objectOf(row['event_properties']),
      ...(groups.length === 0 ? {} : { $groups: Object.fromEntries(groups) }),
      ...(isGroup ? amplitudeGroup(groups, row['group_properties']) : {}),
    },
    ...(Object.keys(set).length === 0 ? {} : { $set: set }),
  };
}

/** Amplitude has a list of keys for each group type; a Sluice event can only have the first. */
function groupsOf(given: unknown): [type: string, key: unknown][] {
  return Object.entries(objectOf(given)).map(([type, keys]) => [
    type,
    Array.isArray(keys) ? keys[0] : keys,
  ]);
}

function amplitudeGroup(groups: [string, unknown][], given: unknown): JsonObject {
  const [[type, key] = []] = groups;
  if (type === undefined) throw new Unmappable('This $groupidentify has no group in "groups".');
  const of_type = objectOf(objectOf(given)[type]);
  const set = isJsonObject(of_type[String(key)]) ? of_type[String(key)] : of_type;
  return { $group_type: type, $group_key: key, $group_set: set };
}

/**
 * Reads a row of Mixpanel, where two events are equal if name, distinct id, time and `$insert_id`
 * agree. Events that join persons get Sluice's names for them.
 */
export function readMixpanel({ event, properties }: JsonObject): JsonObject {
  if (!isJsonObject(properties)) throw new Unmappable('The field "properties" is not an object.');
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
      throw new Unmappable('This $identify has no "$anon_id", so there is nobody to join.');
    return { distinct_id: user, properties: { ...rest, $anon_distinct_id: visitor } };
  }
  if (event !== '$merge') return {};
  const ids = rest['$distinct_ids'];
  if (!Array.isArray(ids) || ids.length !== 2)
    throw new Unmappable('This $merge does not have two ids in "$distinct_ids".');
  const [into, other] = ids as unknown[];
  return {
    event: '$merge_dangerously',
    distinct_id: into,
    properties: { ...rest, alias: other },
  };
}

/**
 * Reads a row of GA4: the parameters of the event become properties, and `user_properties` an
 * object. Rows have no id, but those of one batch are numbered.
 */
export function readGa4(row: JsonObject): JsonObject {
  const { event_params, user_properties, ...rest } = row;
  return {
    ...rest,
    ...(user_properties === undefined
      ? {}
      : { user_properties: ga4Values(user_properties, 'user_properties') }),
    properties: ga4Values(event_params ?? [], 'event_params'),
    ...ga4Id(row, event_params),
  };
}

/** The columns that number the events of a device within a batch, if the export has them. */
const ga4_ids = ['batch_page_id', 'batch_ordering_id', 'batch_event_index'] as const;

function ga4Id(row: JsonObject, params: unknown): JsonObject {
  if (!ga4_ids.every((name) => isGiven(row[name]))) return {};
  const { user_pseudo_id, event_timestamp, event_name } = row;
  const parts = [user_pseudo_id, event_timestamp, event_name, ...ga4_ids.map((name) => row[name])];
  return { uuid: v5(JSON.stringify([...parts, params]), foreign_id_namespace) };
}

function ga4Values(list: unknown, field: string): JsonObject {
  if (!Array.isArray(list)) throw new Unmappable(`The field "${field}" is not a list.`);
  return Object.fromEntries(
    list.map((entry: unknown) => {
      const { key, value } = isJsonObject(entry) ? entry : {};
      if (typeof key !== 'string')
        throw new Unmappable(`The field "${field}" has an entry without a "key".`);
      return [key, isJsonObject(value) ? ga4Value(value) : (value ?? null)];
    }),
  );
}

/** Returns the one of four values that is set; BigQuery writes whole numbers as texts. */
function ga4Value(value: JsonObject): unknown {
  const text = value['string_value'] ?? undefined;
  if (text !== undefined) return text;
  const number = value['int_value'] ?? value['double_value'] ?? value['float_value'] ?? null;
  return typeof number === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(number)
    ? (parseExact(`[${number}]`) as unknown[])[0]
    : number;
}

/** Names of Snowplow's events for which Sluice has its own, as for its trackers. */
const snowplow_names: Record<string, string> = {
  page_view: '$pageview',
  struct: 'structured_event',
  ad_impression: 'ad_impression',
};

/** Columns of Snowplow, and the property names for them. */
const snowplow_properties: Record<string, string> = {
  page_url: '$current_url',
  page_title: '$title',
  page_referrer: '$referrer',
};

/**
 * Reads an enriched event of Snowplow as JSON. The content of `unstruct_event_...` becomes
 * properties; all columns with a value are properties too. `event_id` identifies the event, as when
 * its trackers send to Sluice.
 */
export function readSnowplow(row: JsonObject): JsonObject {
  const { event, event_id, event_name, derived_tstamp, collector_tstamp } = row;
  const columns = Object.entries(row).filter(([, value]) => value !== null && value !== '');
  const described = columns.filter(([name]) => name.startsWith('unstruct_event'));
  const contents = described.map(([, value]) => objectOf(contentOf(value)));
  const rest = columns.filter(([name]) => !name.startsWith('unstruct_event'));
  const named = rest.flatMap(([name, value]): [string, unknown][] => {
    const ours = snowplow_properties[name];
    return ours === undefined ? [] : [[ours, value]];
  });
  const is_described = event === 'unstruct' || event === undefined;
  const named_as = (is_described ? event_name : event) ?? event_name;
  const kind = typeof named_as === 'string' ? named_as : '';
  const { event: _event, event_name: _name, ...other } = Object.fromEntries(rest);
  return {
    ...other,
    event: snowplow_names[kind] ?? kind,
    derived_tstamp: derived_tstamp ?? collector_tstamp,
    uuid: event_id,
    properties: Object.assign({}, ...contents, Object.fromEntries(named)) as JsonObject,
  };
}

/** A self-describing value has its content in `data`. */
function contentOf(value: unknown): unknown {
  const outer = objectOf(value);
  const inner = isJsonObject(outer['data']) ? outer['data'] : outer;
  return isJsonObject(inner['data']) && typeof inner['schema'] === 'string' ? inner['data'] : inner;
}

function namedBy(parts: unknown[], id: unknown): unknown {
  if (!isGiven(id)) return undefined;
  if (typeof id === 'string' && isUuid(id)) return id;
  return v5(JSON.stringify(parts), foreign_id_namespace);
}

/** Returns true for a value that can identify a person or object. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
