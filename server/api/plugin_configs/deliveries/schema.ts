import { Type } from 'typebox';
import type { Static } from 'typebox';
import { send_outcomes } from '../../../engine/plugins/trace/send_outcomes.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, uuid } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The progress of a plugin's delivery. */
export const PluginDelivery = Type.Object(
  {
    delivered_until: nullable(instant('Everything that was stored before is done.')),
    failures: nullable(Type.Integer({ description: 'Failures in a row.' })),
    retry_at: nullable(instant('When it tries again; null: it does not wait.')),
    set_aside: Type.Integer({ description: 'Number of events that were set aside.' }),
  },
  { title: 'PluginDelivery' },
);
/** The state of a delivery as SELECT gives it. */
export type PluginDeliveryRow = Static<typeof PluginDelivery>;

const Body = Type.Object({
  text: nullable(Type.String({ description: 'Its first 10,000 characters; null: it is no text.' })),
  size_bytes: Type.Integer({ description: 'Size of the whole body.' }),
});

const header_fields = Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
  description: 'The headers; secret values are `********`.',
});

/** A request of a tool, and the answer to it. */
const Exchange = Type.Object({
  request: Type.Object({
    method: Type.String(),
    url: Type.String(),
    header_fields,
    body: nullable(Body),
  }),
  answer: nullable(
    Type.Object({
      status: nullable(Type.Integer({ description: 'Null for a tool that does not speak HTTP.' })),
      header_fields,
      body: Body,
    }),
  ),
  error: nullable(Type.String({ description: 'Why there is no answer.' })),
});
/** A request of a tool, and the answer to it. */
export type Exchange = Static<typeof Exchange>;

const mapping = Type.String({ description: 'The name of the mapping.' });
const status = nullable(
  Type.Integer({ description: "Of the tool's answer; null: there is none." }),
);

const set_aside_fields = {
  id: Type.Integer(),
  event_uuid: uuid('The event.'),
  event: Type.String({ description: 'Its name.' }),
  distinct_id: Type.String(),
  mapping,
  status,
  reason: Type.String(),
  attempts: Type.Integer({ description: 'How often it was set aside.' }),
  set_aside_at: instant(),
};

/** An event that a tool did not take at one mapping. */
export const SetAsideEvent = Type.Object(set_aside_fields, { title: 'PluginSetAsideEvent' });
/** A row of the events that were set aside. */
export type SetAsideRow = Static<typeof SetAsideEvent>;

/** One of them with the requests and answers of the last attempt. */
export const SetAsideRecord = Type.Object(
  { ...set_aside_fields, exchanges: Type.Array(Exchange) },
  { title: 'PluginSetAsideRecord' },
);
/** An event that was set aside, with requests and answers. */
export type SetAsideRecordRow = Static<typeof SetAsideRecord>;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, description }));
const wanted_status = Type.Optional(
  Type.Integer({ minimum: 100, maximum: 599, description: "Only with this status of the tool's." }),
);
const wanted_event = 'Only this event.';
const wanted_mapping = text('Only at the mapping of this name.');
const wanted_reason = text('Only with a reason that contains this text, in any case.');

/** The query of `set_aside/`. */
export const SetAsideQuery = Type.Object({
  ...PageQuery.properties,
  after: Type.Optional(queryInstant('Only those that were set aside at or after this instant.')),
  before: Type.Optional(queryInstant('Only those that were set aside before this instant.')),
  event: text('Only events of this name.'),
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
  dry_run: Type.Optional(Type.Boolean({ description: 'Only count them.' })),
});
/** The body of `set_aside/discard/`. */
export type SetAsideFilterBody = Static<typeof SetAsideFilterBody>;

/** The answer of `set_aside/discard/`. */
export const Discarded = Type.Object(
  { discarded: Type.Integer({ description: 'Number of events; with `dry_run` none is gone.' }) },
  { title: 'DiscardedEvents' },
);

/** Events a second of a replay that names no rate. */
export const rate_default = 50;

/** The body of `replays/`. */
export const NewReplay = Type.Object({
  source: Type.Enum(['events', 'set_aside'], {
    description:
      '`events`: what the project has stored, by the time of storing. `set_aside`: what the tool ' +
      'did not take. `mapping`, `status`, `event_uuid` and `reason` are for these alone.',
  }),
  ...filter,
  rate: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: `At most so many events a second; default ${rate_default}.`,
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Only count what would be sent.' })),
});
/** The body of `replays/`. */
export type NewReplay = Static<typeof NewReplay>;

const replay_states = ['DryRun', 'Running', 'Waiting', 'Completed', 'Cancelled', 'Failed'] as const;

/** Events that are sent again. */
export const Replay = Type.Object(
  {
    id: nullable(uuid('Null for a dry run.')),
    source: Type.Enum(['events', 'set_aside']),
    state: Type.Enum([...replay_states], {
      description: '`Waiting`: until `retry_at`, or for what `detail` says.',
    }),
    start_at: nullable(instant('Null: from the beginning.')),
    end_at: instant(),
    events: nullable(Type.Array(Type.String())),
    mapping: nullable(Type.String()),
    status: nullable(Type.Integer()),
    event_uuid: nullable(uuid()),
    reason: nullable(Type.String()),
    rate: Type.Integer({ description: 'At most so many events a second.' }),
    total: Type.Integer({ description: 'Number of events, counted when it began.' }),
    done: Type.Integer({ description: 'Number of events that had their turn.' }),
    detail: nullable(Type.String({ description: 'What it waits for, or why it failed.' })),
    retry_at: nullable(instant('When it tries again.')),
    created_at: nullable(instant('Null for a dry run.')),
    finished_at: nullable(instant()),
  },
  { title: 'PluginReplay' },
);
/** A replay's row as SELECT gives it. */
export type ReplayRow = Static<typeof Replay>;

/** The query of `sends/`. */
export const SendsQuery = Type.Object({ event_uuid: uuid('The event.') });

/** The answer of `sends/`: what became of an event at a tool. */
export const PluginSends = Type.Object(
  {
    is_stored: Type.Boolean({ description: 'The project has this event.' }),
    results: Type.Array(
      Type.Object({
        mapping,
        outcome: Type.Enum([...send_outcomes]),
        status,
        reason: nullable(Type.String({ description: 'Why the tool did not take it.' })),
        is_again: Type.Boolean({
          description:
            'The answer to an earlier attempt was lost: the tool may have the event twice.',
        }),
        is_replay: Type.Boolean({ description: 'A replay sent it.' }),
        at: instant(),
        exchanges: nullable(
          Type.Array(Exchange, {
            description:
              'Null: they were removed, by an erasure of another event of the same request.',
          }),
        ),
      }),
      { description: 'Newest first. Events that no mapping wants have none.' },
    ),
  },
  { title: 'PluginSends' },
);

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
export const DeliveryPoint = Type.Object(
  {
    start_at: instant(),
    delivered: Type.Integer({ description: 'Events by the mappings that sent them.' }),
    retried: Type.Integer({ description: 'Attempts after which another one follows.' }),
    set_aside: Type.Integer(),
    per_second: Type.Number({ description: '`delivered` for each second of the point.' }),
    delay_seconds: nullable(
      Type.Number({
        description:
          'Mean time from the storing of an event to its delivery; null without one. Events that ' +
          'are sent again do not count.',
      }),
    ),
    delay_seconds_max: nullable(Type.Number()),
  },
  { title: 'PluginDeliveryPoint' },
);
/** A point of a delivery's charts. */
export type DeliveryPoint = Static<typeof DeliveryPoint>;

/** The answer of `delivery/metrics/`. */
export const DeliveryMetrics = Type.Object(
  {
    after: instant('The range that the points are of.'),
    before: instant('Its end (exclusive).'),
    interval: Type.Enum([...point_lengths]),
    results: Type.Array(DeliveryPoint, {
      description: 'Oldest first; times without attempts are left out.',
    }),
  },
  { title: 'PluginDeliveryMetrics' },
);
