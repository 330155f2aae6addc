import { Type } from 'typebox';
import type { Static } from 'typebox';
import { erasure_steps } from '../../engine/privacy/erasures/erasure.ts';
import { PageQuery } from '../../platform/http/lists/pagination.ts';
import { nullable } from '../../platform/nullable.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const ids_max = 1_000;
/** Longest distinct id that is stored, in characters. */
export const distinct_id_length_max = 400;
const late_events = ['refuse', 'anonymize'] as const;

const filterInstant = (description: string) =>
  Type.Optional(
    Type.String({
      format: 'date-time',
      not_before: '1900-01-01T00:00:00Z',
      not_after: '2299-01-01T00:00:00Z',
      description,
    }),
  );

const Filter = Type.Object(
  {
    events: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 400 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Events with one of these names.',
      }),
    ),
    after: filterInstant('Events that happened at or after this instant.'),
    before: filterInstant('Events that happened before this instant.'),
    properties: Type.Optional(
      Type.Array(
        Type.Object(
          {
            key: Type.String({ minLength: 1, maxLength: 400 }),
            value: Type.Union([Type.String({ maxLength: 10_000 }), Type.Number(), Type.Boolean()]),
          },
          { additionalProperties: false },
        ),
        {
          minItems: 1,
          maxItems: 20,
          description: 'Events that have each of these properties with exactly this value.',
        },
      ),
    ),
  },
  {
    // A misspelled condition must not erase everything that the other conditions match.
    additionalProperties: false,
    description: 'Events that meet every condition; persons stay unchanged.',
  },
);

/** The body that requests an erasure. */
export const NewErasure = Type.Object(
  {
    distinct_ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: distinct_id_length_max }), {
        minItems: 1,
        maxItems: ids_max,
        description: 'Persons, each by any one of their distinct ids; Sluice finds the others.',
      }),
    ),
    person_ids: Type.Optional(
      Type.Array(uuid(), {
        minItems: 1,
        maxItems: ids_max,
        description: 'Persons by their ids.',
      }),
    ),
    filter: Type.Optional(Filter),
    late_events: Type.Optional(
      Type.Enum([...late_events], {
        description:
          'Treatment of later events of these persons: `refuse` (default), or `anonymize`: ' +
          'name and time are stored, without person and properties.',
      }),
    ),
  },
  { refuses_empty: true },
);

/** The request of an erasure. */
export type ErasureAsked = Static<typeof NewErasure>;

/** The rows that an erasure would delete from the stores. */
export const ErasurePreview = titled('ErasurePreview', {
  distinct_ids: count('All that the persons have; 0 with a filter.'),
  events: count('Events of the persons, or events that match the filter.'),
  person_versions: count('Versions of the persons; 0 with a filter.'),
  refused_events: count('All refused events of the project: any may be of these persons.'),
});

const Copies = Type.Object(
  {
    waiting: count('To be rewritten.'),
    rewriting: count('A run is rewriting them.'),
    rewritten: count('A new receipt replaces the old one.'),
    yours: count('The server cannot rewrite them: remove them yourself.'),
  },
  { description: 'Deliveries with rows of the erasure.' },
);

const Tools = Type.Object(
  {
    waiting: count('To be told.'),
    told: count('Sluice has notified them of every id that they accept.'),
    cannot: count('Sluice cannot notify them: delete the persons there yourself.'),
    failed: count(
      'They refused, or did not answer for three days: delete the persons there yourself.',
    ),
  },
  { description: 'Plugins that got events of the project; none for an erasure by filter.' },
);

/** An erasure in answers, which never name the persons. */
export const Erasure = titled('Erasure', {
  id: uuid(),
  project: Type.Integer(),
  kind: Type.Enum(['persons', 'events']),
  late_events: Type.Enum([...late_events]),
  asked: Type.Record(Type.String(), Type.Integer(), {
    description: 'Number of named persons or events, by kind; the names are shown nowhere.',
  }),
  status: Type.Enum(['Starting', 'Running', 'Completed']),
  step: Type.Enum([...erasure_steps], {
    description:
      '`resolve`: finds the distinct ids. `note`: finds the rows and deliveries. `remove`: ' +
      'deletes rows from the store. `settle`: restarts runs in progress. `rewrite`: copies ' +
      'are rewritten. `scrub`: logs and warnings. `files`: the store removes its former ' +
      'files. `certify`, `done`.',
  }),
  detail: nullable(text('Why it waits now.')),
  counts: Type.Record(Type.String(), Type.Integer(), {
    description: 'Counts so far, by name.',
  }),
  copies: Copies,
  tools: Tools,
  certificate: nullable(text('The certificate of the erasure, as JSON text; null until its end.')),
  signature: nullable(text("Ed25519 over exactly the certificate's text, base64.")),
  public_key: text('Key that checks the signature (SPKI, base64).'),
  created_by: nullable(text('Email address of the person who requested it.')),
  created_at: instant('Time of the request.'),
  finished_at: nullable(instant('When it was certified.')),
  last_updated_at: instant('Time of its latest progress.'),
});

/** An erasure as SELECT returns it. */
export type ErasureRow = Omit<Static<typeof Erasure>, 'public_key'>;

const copy_states = ['waiting', 'rewriting', 'rewritten', 'yours'] as const;

/** A delivery of an erasure's rows to a destination. */
export const ErasureCopy = titled('ErasureCopy', {
  batch_export: uuid(),
  name: text('The name of the export at that time.'),
  destination_type: Type.String(),
  place: text('The destination: host, and files or tables.'),
  data_interval_start: instant('The delivered interval.'),
  data_interval_end: instant('Its end (exclusive).'),
  records: count('Rows of the erasure in it.'),
  state: Type.Enum([...copy_states]),
  detail: nullable(text('Why you have to do it.')),
  run: uuid('The run of the receipt.'),
  new_run: nullable(uuid('The run that rewrites it.')),
});

/** A plugin that received events of an erasure's persons. */
export const ErasureTool = titled('ErasureTool', {
  plugin_config: whole('Id of the config, which may no longer exist.'),
  name: text('The name of the plugin.'),
  state: Type.Enum(['waiting', 'told', 'cannot', 'failed']),
  detail: nullable(text('What it waits for, or why it was not notified of all ids.')),
  ids: count('Distinct ids of the erasure.'),
  told: count('Ids that it was told.'),
  told_at: nullable(instant('Time when the last id was done.')),
  next_try_at: nullable(instant('When it is told next; null: it does not wait.')),
});

/** The query of the list of copies. */
export const CopiesQuery = Type.Object({
  ...PageQuery.properties,
  state: Type.Optional(Type.Enum([...copy_states], { description: 'Only these.' })),
});
