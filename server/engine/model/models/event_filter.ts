import { Type } from 'typebox';
import type { TObject } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';

/**
 * The names of an export's events. An empty `include_events` takes every event; a name in
 * `exclude_events` is left out whatever the other list says.
 */
export type EventFilter = { include_events: string[]; exclude_events: string[] };

/** The filter that leaves nothing out. */
export const every_event: EventFilter = { include_events: [], exclude_events: [] };

/**
 * Most names of one list: both lists at their longest still fit into the address under which the
 * analytics store streams its answer.
 */
const event_names_max = 100;

/** The longest name that ingestion takes. */
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
    'Exact names. They are left out even if `include_events` names them. Applies to the model ' +
      '`events` only.',
  ),
};

/** The config keys of the filter, for rules that compare configs. */
export const event_filter_keys: readonly string[] = Object.keys(filter_keys);

/**
 * A destination's schema of its config with the keys that every destination has: what users may
 * set.
 */
export function configSchemaOf({ config }: { config: TObject }): TObject {
  return Type.Object({ ...config.properties, ...filter_keys }, { additionalProperties: false });
}

/**
 * The filter of a config that its schema took. Guarantee: lists that mean the same events are
 * equal, whatever the order and repetition of their names.
 */
export function eventFilterOf(config: Record<string, unknown> | null): EventFilter {
  const listOf = (key: string) => [...new Set((config?.[key] ?? []) as string[])].toSorted();
  return { include_events: listOf('include_events'), exclude_events: listOf('exclude_events') };
}

/**
 * The filter as a ClickHouse condition over the column `event` with what it binds; an empty text
 * where every event passes. No name becomes part of the text.
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
