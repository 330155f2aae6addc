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
import { flag, instant, titled, uuid, whole } from '../../platform/http/schemas.ts';
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
  event: lineOfText(200, 'Name of the event.'),
  description: Type.String({
    trim: true,
    maxLength: 2_000,
    description: 'Its meaning, for people.',
  }),
  mode: Type.Enum([...plan_modes], {
    description:
      'Treatment of an event that differs from the plan: `warn` (default) stores it and ' +
      'counts an ingestion warning, `refuse` does not store it.',
  }),
  properties: Type.Array(
    Type.Object({
      name: lineOfText(200, 'Name of the property.'),
      type: Type.Enum([...property_types], {
        description: 'The type of its value; `10.0` is an integer. Null is no value.',
      }),
      required: flag('Whether the event must have a value for it.'),
      values: plannedValues({ maxLength: planned_text_length_max }),
    }),
    { maxItems: planned_properties_max, description: 'The allowed properties.' },
  ),
  other_properties: Type.Enum(['allow', 'report'], {
    description:
      'Properties outside of the plan: allowed (default), or a difference from the plan. ' +
      'Names that begin with `$` belong to SDKs and are always allowed.',
  }),
};

/** A planned event in answers. */
export const PlannedEvent = titled('PlannedEvent', {
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
});
/** A planned event as SELECT returns it. */
export type PlannedEventRow = Static<typeof PlannedEvent>;

const changes = Type.Partial(Type.Object(fields)).properties;
/** Body of POST and PUT; a PUT keeps absent fields. */
export const PlannedEventCreate = Type.Object({ ...changes, event: fields.event });
/** Body of PATCH: only the sent fields change. */
export const PlannedEventPatch = Type.Object(changes);
/** The fields that people set. */
export type PlannedEventFields = Pick<PlannedEventRow, keyof typeof fields>;

/** Body of `import/`. */
export const PlanImport = Type.Object({
  plan: Type.Unknown({
    description:
      'The tracking plan with a JSON Schema for each event, as JSON or its text, in the ' +
      'export format of Segment, RudderStack or Avo (docs/tracking_plan.md).',
  }),
  mode: Type.Optional(fields.mode),
});
/** The result of an import. */
export const ImportedPlan = titled('ImportedPlan', {
  created: Type.Array(Type.String(), { description: 'Names of new events.' }),
  changed: Type.Array(Type.String(), { description: 'Names of events whose rules changed.' }),
  unchanged: whole('Events whose rules did not change.'),
  left_out: Type.Array(
    Type.Object({
      event: nullable(Type.String({ description: 'Null: it is not about an event.' })),
      property: nullable(Type.String({ description: 'Null: the event itself.' })),
      detail: Type.String(),
    }),
    { description: 'Parts of the file that Sluice does not compare.' },
  ),
});

/** The defaults of a new planned event. */
export const planned_event_defaults: Omit<PlannedEventFields, 'event'> = {
  description: '',
  mode: 'warn',
  properties: [],
  other_properties: 'allow',
};
