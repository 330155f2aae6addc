import { Type } from 'typebox';
import type { Static } from 'typebox';
import { send_outcomes } from '../../../engine/plugins/trace/send_outcomes.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { flag, instant, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The progress of a plugin's delivery. */
export const PluginDelivery = titled('PluginDelivery', {
  delivered_until: nullable(instant('All events stored before this time were processed.')),
  failures: nullable(whole('Consecutive failures.')),
  retry_at: nullable(instant('When it tries again; null: it does not wait.')),
  set_aside: whole('Number of events that were set aside.'),
});
/** The state of a delivery as SELECT returns it. */
export type PluginDeliveryRow = Static<typeof PluginDelivery>;

const Body = Type.Object({
  text: nullable(Type.String({ description: 'Its first 10,000 characters; null: it is no text.' })),
  size_bytes: whole('Size of the whole body.'),
});

const header_fields = Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
  description: 'The headers; secret values are `********`.',
});

/** A request of a tool, and its answer. */
const Exchange = Type.Object({
  request: Type.Object({
    method: Type.String(),
    url: Type.String(),
    header_fields,
    body: nullable(Body),
  }),
  answer: nullable(
    Type.Object({
      status: nullable(whole('Null for a tool without HTTP.')),
      header_fields,
      body: Body,
    }),
  ),
  error: nullable(Type.String({ description: 'Why there is no answer.' })),
});
/** A request of a tool, and the answer to it. */
export type Exchange = Static<typeof Exchange>;

const mapping = Type.String({ description: 'The name of the mapping.' });
const status = nullable(whole("Of the tool's answer; null: there is none."));

const set_aside_fields = {
  id: Type.Integer(),
  event_uuid: uuid('The event.'),
  event: Type.String({ description: 'Its name.' }),
  distinct_id: Type.String(),
  mapping,
  status,
  reason: Type.String(),
  attempts: whole('How often it was set aside.'),
  set_aside_at: instant(),
};

/** An event that a tool did not accept at one mapping. */
export const SetAsideEvent = titled('PluginSetAsideEvent', set_aside_fields);
/** A row of the events that were set aside. */
export type SetAsideRow = Static<typeof SetAsideEvent>;

/** Such an event with the requests and answers of the last attempt. */
export const SetAsideRecord = titled('PluginSetAsideRecord', {
  ...set_aside_fields,
  exchanges: Type.Array(Exchange),
});
/** An event that was set aside, with requests and answers. */
export type SetAsideRecordRow = Static<typeof SetAsideRecord>;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description }));
const wanted_status = Type.Optional(
  Type.Integer({
    minimum: 100,
    maximum: 599,
    description: "Only events with this status of the tool's answer.",
  }),
);
const wanted_event = 'Only this event.';
const wanted_mapping = text('Only events at the mapping with this name.');
const wanted_reason = text('Only events whose reason contains this text, in any case.');

/** The query of `set_aside/`. */
export const SetAsideQuery = Type.Object({
  ...PageQuery.properties,
  after: Type.Optional(queryInstant('Only events that were set aside at or after this instant.')),
  before: Type.Optional(queryInstant('Only events that were set aside before this instant.')),
  event: text('Only events with this name.'),
  mapping: wanted_mapping,
  status: wanted_status,
  event_uuid: Type.Optional(uuid(wanted_event)),
  reason: wanted_reason,
});

const filter = {
  start_at: Type.Optional(
    nullable(
      instant('Only what was stored, or set aside, then or later; null: from the beginning.'),
    ),
  ),
  end_at: Type.Optional(
    nullable(
      instant(
        'Only what was stored, or set aside, before; null: now. A replay of `events` that begins ' +
          'before the plugin was enabled ends there instead, since later ones come live.',
      ),
    ),
  ),
  events: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 400 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Only events of these names; null: all.',
      }),
    ),
  ),
  mapping: wanted_mapping,
  status: wanted_status,
  event_uuid: Type.Optional(uuid(wanted_event)),
  reason: wanted_reason,
};

/** The body of `set_aside/discard/`. */
export const SetAsideFilterBody = Type.Object({
  ...filter,
  dry_run: Type.Optional(flag('Only count them.')),
});
export type SetAsideFilterBody = Static<typeof SetAsideFilterBody>;

/** The answer of `set_aside/discard/`. */
export const Discarded = titled('DiscardedEvents', {
  discarded: whole('Number of events; with `dry_run` none is gone.'),
});

/** Default events per second of a replay. */
export const rate_default = 50;

/** The body of `replays/`. */
export const NewReplay = Type.Object({
  source: Type.Enum(['events', 'set_aside'], {
    description:
      '`events`: stored events of the project, by their time of storage. `set_aside`: events ' +
      'that the tool did not accept. `mapping`, `status`, `event_uuid` and `reason` are only ' +
      'valid with `set_aside`.',
  }),
  ...filter,
  rate: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: `At most so many events a second; default ${rate_default}.`,
    }),
  ),
  dry_run: Type.Optional(flag('Only count the events.')),
});
export type NewReplay = Static<typeof NewReplay>;

const replay_states = ['DryRun', 'Running', 'Waiting', 'Completed', 'Cancelled', 'Failed'] as const;

/** Events that are sent again. */
export const Replay = titled('PluginReplay', {
  id: nullable(uuid('Null for a dry run.')),
  source: Type.Enum(['events', 'set_aside']),
  state: Type.Enum([...replay_states], {
    description: '`Waiting`: until `retry_at`, or for the reason in `detail`.',
  }),
  start_at: nullable(instant('Null: from the beginning.')),
  end_at: instant(),
  events: nullable(Type.Array(Type.String())),
  mapping: nullable(Type.String()),
  status: nullable(Type.Integer()),
  event_uuid: nullable(uuid()),
  reason: nullable(Type.String()),
  rate: whole('Most events per second.'),
  total: whole('Number of events, counted at its start.'),
  done: whole('Number of processed events.'),
  detail: nullable(Type.String({ description: 'What it waits for, or why it failed.' })),
  retry_at: nullable(instant('Time of the next attempt.')),
  created_at: nullable(instant('Null for a dry run.')),
  finished_at: nullable(instant()),
});
/** A replay as SELECT returns it. */
export type ReplayRow = Static<typeof Replay>;

/** The query of `sends/`. */
export const SendsQuery = Type.Object({ event_uuid: uuid('The event.') });

/** The answer of `sends/`: the attempts of a tool at an event. */
export const PluginSends = titled('PluginSends', {
  is_stored: flag('True if the project has this event.'),
  results: Type.Array(
    Type.Object({
      mapping,
      outcome: Type.Enum([...send_outcomes]),
      status,
      reason: nullable(Type.String({ description: 'Why the tool did not accept it.' })),
      is_again: flag(
        'The answer to an earlier attempt was lost: the tool may have the event twice.',
      ),
      is_replay: flag('A replay sent it.'),
      at: instant(),
      exchanges: nullable(
        Type.Array(Exchange, {
          description: 'Null: an erasure of another event in the same request removed them.',
        }),
      ),
    }),
    { description: 'Newest first. Empty for events that no mapping selects.' },
  ),
});

/** Units of a point of `delivery/metrics/`. */
export const point_lengths = ['point', 'hour', 'day'] as const;

/** The query of `delivery/metrics/`. */
export const DeliveryMetricsQuery = Type.Object({
  after: Type.Optional(
    queryInstant('Only points at or after this instant; default a day before `before`.'),
  ),
  before: Type.Optional(queryInstant('Only points before this instant; default now.')),
  interval: Type.Optional(
    Type.Enum([...point_lengths], {
      description: 'Unit of a point: ten minutes (`point`, default), an hour or a day (UTC).',
    }),
  ),
});

/** A point of a delivery's charts. */
export const DeliveryPoint = titled('PluginDeliveryPoint', {
  start_at: instant(),
  delivered: whole('Events by the mapping that sent them.'),
  retried: whole('Attempts that were followed by another one.'),
  set_aside: Type.Integer(),
  per_second: Type.Number({ description: '`delivered` per second of the point.' }),
  delay_seconds: nullable(
    Type.Number({
      description:
        'Mean time from the storing of an event to its delivery; null without one. Events that ' +
        'are sent again do not count.',
    }),
  ),
  delay_seconds_max: nullable(Type.Number()),
});
export type DeliveryPoint = Static<typeof DeliveryPoint>;

/** The answer of `delivery/metrics/`. */
export const DeliveryMetrics = titled('PluginDeliveryMetrics', {
  after: instant('The range of the points.'),
  before: instant('Its end (exclusive).'),
  interval: Type.Enum([...point_lengths]),
  results: Type.Array(DeliveryPoint, {
    description: 'Oldest first; times without attempts are left out.',
  }),
});
