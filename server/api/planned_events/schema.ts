import { Type } from 'typebox';
import type { Static } from 'typebox';
import {
  plan_modes,
  planned_properties_max,
  planned_text_length_max,
  planned_values_max,
  property_types,
} from '../../engine/ingest/rules/tracking_plan.ts';
import { nullable } from '../../platform/nullable.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const plannedValues = (text: { maxLength?: number } = {}) =>
  Type.Optional(
    Type.Array(Type.Union([Type.String(text), Type.Number(), Type.Boolean()]), {
      minItems: 1,
      maxItems: planned_values_max,
      description: 'The values that it may have; left out: every value of its type.',
    }),
  );

const fields = {
  event: lineOfText({ minLength: 1, maxLength: 200, description: 'Name of the event.' }),
  description: Type.String({
    trim: true,
    maxLength: 2_000,
    description: 'What it means, for people.',
  }),
  mode: Type.Enum([...plan_modes], {
    description:
      'What becomes of an event that is not as planned: `warn` (default) stores it and counts an ' +
      'ingestion warning, `refuse` does not store it.',
  }),
  properties: Type.Array(
    Type.Object({
      name: lineOfText({ minLength: 1, maxLength: 200, description: 'Name of the property.' }),
      type: Type.Enum([...property_types], {
        description: 'The type of its value; `10.0` is an integer. Null is no value.',
      }),
      required: Type.Boolean({ description: 'The event must have a value for it.' }),
      values: plannedValues({ maxLength: planned_text_length_max }),
    }),
    { maxItems: planned_properties_max, description: 'The properties that it may have.' },
  ),
  other_properties: Type.Enum(['allow', 'report'], {
    description:
      'Properties that the plan does not name: allowed (default), or a difference from the plan. ' +
      'Names that begin with `$` belong to SDKs and are always allowed.',
  }),
};

/** A planned event as every answer shows it. */
export const PlannedEvent = Type.Object(
  {
    id: uuid(),
    ...fields,
    event: Type.String(),
    properties: Type.Array(
      Type.Object({
        name: Type.String(),
        type: Type.Enum([...property_types]),
        required: Type.Boolean(),
        values: plannedValues(),
      }),
    ),
    created_at: instant(),
    updated_at: instant(),
    managed_by: ManagedBy,
  },
  { title: 'PlannedEvent' },
);
/** A planned event's row as SELECT gives it. */
export type PlannedEventRow = Static<typeof PlannedEvent>;

const changes = Type.Partial(Type.Object(fields)).properties;
/** Body of POST and PUT; a PUT keeps the fields that it leaves out. */
export const PlannedEventCreate = Type.Object({ ...changes, event: fields.event });
/** Body of PATCH: only what is sent is changed. */
export const PlannedEventPatch = Type.Object(changes);
/** The fields that people decide. */
export type PlannedEventFields = Pick<PlannedEventRow, keyof typeof fields>;

/** Body of `import/`. */
export const PlanImport = Type.Object({
  plan: Type.Unknown({
    description:
      'The tracking plan with a JSON Schema for each event, as Segment, RudderStack or Avo ' +
      'export it, as JSON or as its text (docs/tracking_plan.md).',
  }),
  mode: Type.Optional(fields.mode),
});
/** The result of an import. */
export const ImportedPlan = Type.Object(
  {
    created: Type.Array(Type.String(), { description: 'Names of events that are new.' }),
    changed: Type.Array(Type.String(), { description: 'Names of events that have other rules.' }),
    unchanged: Type.Integer({ description: 'Events whose rules were the same already.' }),
    left_out: Type.Array(
      Type.Object({
        event: nullable(Type.String({ description: 'Null: no event of the file.' })),
        property: nullable(Type.String({ description: 'Null: the event itself.' })),
        detail: Type.String(),
      }),
      { description: 'Everything in the file that a plan of Sluice does not compare.' },
    ),
  },
  { title: 'ImportedPlan' },
);

/** The fields that a new one has unless they are sent. */
export const planned_event_defaults: Omit<PlannedEventFields, 'event'> = {
  description: '',
  mode: 'warn',
  properties: [],
  other_properties: 'allow',
};
