import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { model_names } from '../../../engine/model/models/model.ts';
import { send_outcomes } from '../../../engine/plugins/trace/send_outcomes.ts';
import { slot_reasons, slot_states } from '../slots/schema.ts';

/** States of a record in an export: the state of its slot, or the reason why it has none. */
const found_states = [
  ...slot_states,
  'excluded',
  'not_in_query',
  'not_in_model',
  'superseded',
  'rejected',
  'not_told',
] as const;
/** Number of records in an answer. */
export const records_max = 100;
/** Number of exports per record in an answer. */
export const exports_max = 100;
/** Number of tools per record in an answer. */
export const tools_max = 100;

/** The query of `find/`. */
export const FindQuery = Type.Object({
  uuid: Type.Optional(uuid('Uuid of an event.')),
  distinct_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description:
        'A distinct id. Returns its events of one day, the versions of its person, and the ' +
        'merges of the id.',
    }),
  ),
  session_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description:
        'A session. Returns its versions: one for each batch with events of the session.',
    }),
  ),
  group_id: Type.Optional(
    Type.String({
      minLength: 3,
      maxLength: 401,
      description:
        'A group, such as `company:acme`. Returns its versions: one for each batch with ' +
        '`$groupidentify` events of the group.',
    }),
  ),
  day: Type.Optional(
    Type.String({
      pattern: String.raw`^\d{4}-\d{2}-\d{2}$`,
      description:
        'With `distinct_id`: a date in the time zone of the project, such as 2026-01-31.',
    }),
  ),
  batch_export: Type.Optional(uuid('Only its state in this export.')),
});

const Slice = Type.Object({
  number: whole('Position in the run, from 0 on.'),
  name: nullable(text('The file, object or table; null until it is written.')),
  records: whole('Number of its rows.'),
  bytes: nullable(Type.Integer()),
  sha256: nullable(Type.String()),
});

const FoundExport = Type.Object({
  batch_export: uuid('The export.'),
  name: Type.String(),
  destination_type: Type.String(),
  state: Type.Enum([...found_states], {
    description:
      'As in `slots/`, and: `excluded`, by the names of events in its config; `not_in_query`; ' +
      '`not_in_model`, it exports something else; `superseded`, a later version was in the ' +
      'same run; `rejected`, the destination refused it and Sluice set it aside; `not_told`, ' +
      'the rows of its query cannot be told apart.',
  }),
  reason: nullable(Type.Enum([...slot_reasons])),
  detail: text('The state in a sentence, for people.'),
  run: nullable(uuid('The run that delivers it, or the latest one that did.')),
  backfill: nullable(uuid('The backfill of that run.')),
  delivery_id: nullable(uuid('Name of its delivery at the destination.')),
  data_interval_start: nullable(instant('Start of the data interval of the run or slot.')),
  data_interval_end: nullable(instant('End of it.')),
  due_at: nullable(instant('When its run is planned, while its slot waits.')),
  slice: nullable(Slice),
  receipt: nullable(
    Type.String({ format: 'uri', description: 'The signed receipt of the run; null without one.' }),
  ),
});
/** The state of a record in one export. */
export type FoundExport = Static<typeof FoundExport>;

const FoundTool = Type.Object({
  plugin_config: whole('Name of the tool in the project.'),
  name: Type.String(),
  state: Type.Enum(['sent', 'set_aside', 'discarded', 'waiting', 'not_sent'], {
    description: '`discarded`: it was set aside, and a person discarded it.',
  }),
  detail: text('The state in a sentence, for people.'),
  sends: Type.Array(
    Type.Object({
      mapping: text('The name of the mapping.'),
      outcome: Type.Enum([...send_outcomes]),
      status: nullable(whole("Status of the tool's answer.")),
      reason: nullable(Type.String()),
      at: instant(),
      is_replay: flag('A replay sent it.'),
    }),
    {
      description:
        'The attempts, oldest first. `plugin_configs/:id/sends/` has their requests and answers.',
    },
  ),
});
/** The attempts of a tool at an event. */
export type FoundTool = Static<typeof FoundTool>;

const FoundRecord = Type.Object({
  model: Type.Enum([...model_names]),
  uuid: nullable(uuid('The uuid of the event; null for a person.')),
  event: nullable(text('The name of the event; null for a person.')),
  distinct_id: Type.String(),
  session_id: nullable(text('The id of a session; else null.')),
  group_id: nullable(text('The id of a group; else null.')),
  person_version: nullable(
    whole(
      'Of `person_distinct_ids` it is their `version`, of `sessions` their `session_version`, ' +
        'of `groups` their `group_version`; null for an event.',
    ),
  ),
  timestamp: nullable(instant('When the event happened; null for a person.')),
  inserted_at: instant('When the server stored it.'),
  exports: Type.Array(FoundExport, {
    description: `The exports of the project, newest first, at most ${exports_max}.`,
  }),
  tools: Type.Array(FoundTool, {
    description:
      `Results of destinations for an event, at most ${tools_max}. Empty for other records, ` +
      'and for a key without `plugin:read`.',
  }),
});
/** A stored event, or a version of a person or distinct id, and its deliveries. */
export type FoundRecord = Static<typeof FoundRecord>;

/** The answer of `find/`. */
export const Found = titled('FoundRecords', {
  detail: text('The result, in a sentence.'),
  timezone: text('The time zone of the day.'),
  records: Type.Array(FoundRecord, {
    description: `Oldest first, at most ${records_max}.`,
  }),
  has_more_records: flag('More records match on this day.'),
  exports_left_out: whole(
    'Number of exports that were not searched: name one with `batch_export`.',
  ),
});
export type Found = Static<typeof Found>;
