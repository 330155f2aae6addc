import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, whole } from '../../platform/http/schemas.ts';
import { kind_names } from '../managed/schema.ts';

const Source = Type.Object(
  {
    name: lineOfText(200, 'The name of the configuration, such as the name of its repository.'),
    commit: Type.Optional(nullable(lineOfText(200, 'The commit or version of the files.', 0))),
  },
  {
    description:
      'Where the configuration comes from. Objects belong to the source that applied them; ' +
      'only its own plans delete them. Default: the name `default`.',
  },
);

/** The body of `plan/`. */
export const PlanRequest = Type.Object({
  configuration: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'The wanted state; `GET /api/configuration/schema/` has its form. A secret is a text, ' +
      '`{"secret": "..."}`, `{"keep": true}` (the stored value), or an unresolved reference ' +
      '(`{"env": "NAME"}`, `{"file": "path"}`), which the plan names in `needs`.',
  }),
  source: Type.Optional(Source),
  prune: Type.Optional(
    flag(
      'Delete objects that this source applied earlier and no longer names, in the sections of ' +
        'the configuration; default false.',
    ),
  ),
  people: Type.Optional(flag('Take the sections `members` and `invites` too; default false.')),
});

export type PlanRequest = Static<typeof PlanRequest>;

const object_fields = {
  kind: Type.Enum([...kind_names], { description: 'What it is.' }),
  path: text('Its path in the configuration, such as `projects.web.batch_exports.s3`.'),
  id: nullable(text('Its id; null before it is created.')),
  name: nullable(text('Its name for people.')),
};

const FieldChange = titled('ConfigurationFieldChange', {
  field: text('Name of the field; fields inside others with dots.'),
  action: Type.Enum(['created', 'changed', 'deleted']),
  before: Type.Unknown({ description: 'The current value. A secret is `********`.' }),
  after: Type.Unknown({ description: 'The new value. A secret is `********`.' }),
});

const Cost = titled('ConfigurationCost', {
  starts_anew: flag('True if the export then delivers other rows, or to another place.'),
  ledger_ends: flag('Whether an export is deleted with its ledger.'),
  delivered_records: whole('Rows that no longer count as delivered.'),
  open_runs: whole('Runs in progress that are cancelled and planned again.'),
  detail: text('The cost in a sentence.'),
});

const Step = titled('ConfigurationStep', {
  ...object_fields,
  action: Type.Enum(['create', 'change', 'move', 'adopt', 'delete'], {
    description:
      '`move`: another key for the same object. `adopt`: the configuration manages an ' +
      'existing object. Both may change fields too.',
  }),
  moved_from: nullable(text('For `move`: its former path.')),
  changes: Type.Array(FieldChange, { description: 'Field by field.' }),
  cost: nullable({ ...Cost, description: 'The effect on deliveries; null: none.' }),
});

const Drift = titled('ConfigurationDrift', {
  ...object_fields,
  is_deleted: flag('Whether the object no longer exists.'),
  changes: Type.Array(FieldChange, {
    description: 'The changes since the last apply.',
  }),
  by: nullable(
    Type.Object(
      {
        user: nullable(text('Email address of the person who did it.')),
        key: nullable(text('The mask of the API key.')),
        at: instant('When.'),
      },
      { description: 'The latest entry of the activity log about it, or null.' },
    ),
  ),
});

const Need = titled('ConfigurationNeed', {
  code: Type.Enum(['secret', 'scope', 'level']),
  kind: nullable(object_fields.kind),
  path: nullable(text('For a secret: its path in the configuration.')),
  reference: nullable(text('For a secret: its reference, such as `env NAME`.')),
  detail: text('The missing value, and what to do.'),
});

const Note = titled('ConfigurationNote', {
  code: Type.Enum(['was_not_found', 'taken_over', 'plain_secret']),
  kind: object_fields.kind,
  path: text('Its path in the configuration.'),
  detail: text('The note, as a sentence.'),
});

const Left = titled('ConfigurationLeft', { ...object_fields, detail: Type.String() });

/** A plan as answered, without secrets. */
export const Plan = titled('ConfigurationPlan', {
  hash: text('Names the plan; `apply/` takes it.'),
  source: Type.Object({ name: Type.String(), commit: nullable(Type.String()) }),
  prune: Type.Boolean(),
  people: Type.Boolean(),
  is_empty: flag('Whether no change is needed.'),
  summary: Type.Object(
    {
      create: Type.Integer(),
      change: Type.Integer(),
      move: Type.Integer(),
      adopt: Type.Integer(),
      delete: Type.Integer(),
      unchanged: Type.Integer(),
    },
    { description: 'Number of objects for each action.' },
  ),
  steps: Type.Array(Step, { description: 'The steps, in order.' }),
  drift: Type.Array(Drift, {
    description: 'Changes outside of the configuration since the last apply.',
  }),
  needs: Type.Array(Need, {
    description: 'Missing values. The plan cannot be applied until they exist.',
  }),
  left: Type.Array(Left, {
    description:
      'Objects that the source applied earlier and no longer names. They stay without `prune`, ' +
      'or if another source applied something in them.',
  }),
  notes: Type.Array(Note, {
    description:
      'Warnings that do not prevent applying: a `was` without an object, an object that ' +
      'another configuration manages, a secret in plain text.',
  }),
  left_out: Type.Array(Type.String(), {
    description: 'Sections of the configuration that are ignored without `people`.',
  }),
  created_at: instant('When it was created.'),
  expires_at: instant('End of the time in which it can be applied.'),
});

export type Plan = Static<typeof Plan>;
/** One change of one object. */
export type Step = Static<typeof Step>;
/** One field that differs. */
export type FieldChange = Static<typeof FieldChange>;
/** A change made outside of the configuration. */
export type Drift = Static<typeof Drift>;
/** A note for the person. */
export type Note = Static<typeof Note>;
/** A missing value. */
export type Need = Static<typeof Need>;
/** The cost of a step. */
export type Cost = Static<typeof Cost>;

/** One object that a configuration manages, with the changes since its last apply. */
const ManagedObject = titled('ManagedObject', {
  ...Drift.properties,
  key: text('Its key in the configuration; empty if only one exists.'),
  source: text('The name of the configuration.'),
  commit: nullable(text('The commit of the last apply.')),
  applied_at: instant('Time of the last apply.'),
});

/** One object that a configuration manages. */
export type ManagedObject = Static<typeof ManagedObject>;

/** The answer of `objects/`. */
export const ManagedObjects = Type.Object({
  objects: Type.Array(ManagedObject, {
    description:
      'Every object that a configuration manages. `changes` and `by` say what was changed by ' +
      'hand; empty and null: nothing.',
  }),
});

/** The body of `apply/`. */
export const ApplyRequest = Type.Object({
  hash: Type.String({ minLength: 1, maxLength: 200, description: 'The hash of a plan.' }),
});

/** The answer of `apply/`. */
export const Applied = titled('ConfigurationApplied', {
  hash: Type.String(),
  source: Type.Object({ name: Type.String(), commit: nullable(Type.String()) }),
  applied_at: instant('When.'),
  summary: Plan.properties.summary,
  objects: Type.Array(Type.Object({ ...object_fields, action: Step.properties.action }), {
    description: 'The executed steps, with the ids of new objects.',
  }),
  shown_once: Type.Array(Type.Object({ path: Type.String(), secret: Type.String() }), {
    description:
      'Secrets that the server created because none was given (for webhooks). Only this ' +
      'answer shows them.',
  }),
});

export type Applied = Static<typeof Applied>;

/** The answer of `GET configuration/`: the current state, in the form of files. */
export const Pulled = titled('ConfigurationPulled', {
  configuration: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'The current state. Secrets are references (`{"env": "NAME"}`). A key made from the ' +
      'name is used for an object that no configuration manages.',
  }),
  secrets: Type.Array(Type.Object({ path: Type.String(), env: Type.String() }), {
    description: 'Variables of the stored secrets.',
  }),
  yaml: text('`configuration` as YAML.'),
});

/** The query of `GET configuration/`. */
export const PulledQuery = Type.Object({
  people: Type.Optional(flag('With the sections `members` and `invites`; default false.')),
  kind: Type.Optional(Type.Enum([...kind_names], { description: 'The kind of one object.' })),
  id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'The id of that object.' }),
  ),
});
