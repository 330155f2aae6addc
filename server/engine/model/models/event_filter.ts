import { Type } from 'typebox';
import type { TObject } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';

/**
 * The event names that an export includes or excludes. An empty `include_events` includes every
 * event. `exclude_events` always wins.
 */
export type EventFilter = { include_events: string[]; exclude_events: string[] };

/** The filter that passes every event. */
export const every_event: EventFilter = { include_events: [], exclude_events: [] };

/**
 * Most names of one list: two lists of this length still fit into the URL under which the analytics
 * store streams its answer.
 */
const event_names_max = 100;

/** The longest name that ingestion accepts. */
const event_name_characters_max = 400;

const names = (description: string) =>
  Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: event_name_characters_max }), {
        maxItems: event_names_max,
        description,
      }),
    ),
  );

/** The config keys that every destination has. */
export const filter_keys = {
  include_events: names(
    'Exact names. If null or empty, Sluice exports every event. Applies to the model `events` ' +
      'only.',
  ),
  exclude_events: names(
    'Exact names. Sluice excludes them even if `include_events` names them. Applies to ' +
      'the model `events` only.',
  ),
};

/** The config keys of the filter, for rules that compare configs. */
export const event_filter_keys: readonly string[] = Object.keys(filter_keys);

/**
 * Returns the schema of the keys that users may set: a destination's own and those of every
 * destination.
 */
export function configSchemaOf({ config }: { config: TObject }): TObject {
  return Type.Object({ ...config.properties, ...filter_keys }, { additionalProperties: false });
}

/**
 * Returns the filter of a valid config. Guarantee: lists that match the same events are equal,
 * whatever their order and repeats.
 */
export function eventFilterOf(config: Record<string, unknown> | null): EventFilter {
  const listOf = (key: string) => [...new Set((config?.[key] ?? []) as string[])].toSorted();
  return { include_events: listOf('include_events'), exclude_events: listOf('exclude_events') };
}

/**
 * Returns the filter as a ClickHouse condition over the column `event` with its parameters; an
 * empty text if every event passes. No name becomes part of the text.
 */
export function filterCondition({ include_events, exclude_events }: EventFilter): {
  text: string;
  parameters: Record<string, string[]>;
} {
  const included = include_events.length === 0 ? [] : ['event IN {include_events:Array(String)}'];
  const excluded =
    exclude_events.length === 0 ? [] : ['event NOT IN {exclude_events:Array(String)}'];
  return {
    text: [...included, ...excluded].join(' AND '),
    parameters: {
      ...(included.length === 0 ? {} : { include_events }),
      ...(excluded.length === 0 ? {} : { exclude_events }),
    },
  };
}
