import type { JsonObject } from '../../engine/ingest/parse/exact_json.ts';
import { readAmplitude, readGa4, readMixpanel, readSnowplow } from './product_rows.ts';
import { openPosthogRows, readMessage } from './pipeline_rows.ts';

/** The names of the four fields of an event. */
export type EventFields = Record<'event' | 'distinct_id' | 'timestamp' | 'uuid', string>;

/** The two ids of one person in a row, the more reliable one first. */
export type JoinedIds = [user: unknown, visitor: unknown];

/**
 * Reads a row as a line with the preset's fields at its top level and `properties` beside them.
 * Throws an Unmappable with the reason if it cannot become an event.
 */
export type RowReader = (row: JsonObject) => JsonObject;

/** A product whose exported rows differ from events in more than field names. */
type Preset = {
  title: string;
  fields: EventFields;
  /** Returns the ids of one person, if a row has both. */
  joins?: (row: JsonObject) => JoinedIds;
  /** Matches the JSON of rows that probably come from it. */
  looks?: RegExp;
  /** Opens a reader for one file. */
  open: () => RowReader;
};

const own_fields: EventFields = {
  event: 'event',
  distinct_id: 'distinct_id',
  timestamp: 'timestamp',
  uuid: 'uuid',
};
const message = { fields: own_fields, open: () => readMessage };

/** The presets, one entry each. */
export const presets = {
  amplitude: {
    title: 'Amplitude',
    fields: { ...own_fields, event: 'event_type', timestamp: 'event_time' },
    joins: ({ user_id, device_id }) => [user_id, device_id],
    looks: /"amplitude_id":/,
    open: () => readAmplitude,
  },
  ga4: {
    title: 'Google Analytics 4',
    fields: {
      event: 'event_name',
      distinct_id: 'user_id,user_pseudo_id',
      timestamp: 'event_timestamp',
      uuid: 'uuid',
    },
    joins: ({ user_id, user_pseudo_id }) => [user_id, user_pseudo_id],
    looks: /"event_params":\[/,
    open: () => readGa4,
  },
  mixpanel: {
    title: 'Mixpanel',
    fields: own_fields,
    joins: ({ properties }) => {
      const { $user_id, $device_id } = (properties ?? {}) as JsonObject;
      return [$user_id, $device_id];
    },
    looks: /"(\$identified_id|\$distinct_ids|mp_processing_time_ms)":/,
    open: () => readMixpanel,
  },
  posthog: {
    title: 'PostHog',
    fields: own_fields,
    looks: /"(person_properties|_inserted_at|person_version)":/,
    open: openPosthogRows,
  },
  rudderstack: { title: 'RudderStack', ...message },
  segment: { title: 'Segment', looks: /"messageId":/, ...message },
  snowplow: {
    title: 'Snowplow',
    fields: {
      ...own_fields,
      distinct_id: 'user_id,domain_userid,network_userid',
      timestamp: 'derived_tstamp',
    },
    joins: ({ user_id, domain_userid }) => [user_id, domain_userid],
    looks: /"collector_tstamp":/,
    open: () => readSnowplow,
  },
} as const satisfies Record<string, Preset>;

/** The name of a preset. */
export type ImportFormat = keyof typeof presets;

const import_formats = Object.keys(presets) as ImportFormat[];

/**
 * Returns the fields of a row that the format's reader returns; without a format, the fields of an
 * event.
 */
export function formatFields(format: ImportFormat | undefined): EventFields {
  return format === undefined ? own_fields : presets[format].fields;
}

/** Opens a reader for one file's rows. */
export function openRows(format: ImportFormat | undefined): RowReader {
  return format === undefined ? (row) => row : presets[format].open();
}

/** Returns the two ids of one person in a row of the format; undefined if the format has none. */
export function joinedIds(
  row: JsonObject,
  format: ImportFormat | undefined,
): JoinedIds | undefined {
  if (format === undefined) return undefined;
  return (presets[format] as Preset).joins?.(row);
}

/** Returns the format that the JSON of a line probably has. */
export function suggestFormat(json: string): ImportFormat | undefined {
  return import_formats.find((name) => (presets[name] as Preset).looks?.test(json));
}
