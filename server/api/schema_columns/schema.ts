import { Type } from 'typebox';
import type { Static } from 'typebox';
import { property_types } from '../../engine/model/schema/property_type.ts';
import { property_characters_max, property_sources } from '../../engine/model/schema/store.ts';
import { PageQuery, pageOf } from '../../platform/http/lists/pagination.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, whole } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const type = Type.Enum([...property_types], {
  description:
    'The JSON values that the column takes; all others go into the rest column as they are. ' +
    '`timestamp`: texts with date, time and zone. `json`: every value.',
});
const source = Type.Enum([...property_sources], {
  description: 'Source of the property: events, persons or groups.',
});
const property = Type.String({
  minLength: 1,
  maxLength: property_characters_max,
  description: 'Name of the property.',
});
const counts = {
  values: nullable(whole('Values of the property that came in, without null; null: not counted.')),
  misfits: nullable(whole('How many of them do not fit the type; null: not counted.')),
  other_types: Type.Array(Type.Enum([...property_types]), {
    description:
      'Types that fit more of these values, and `timestamp` if all of them are dates with ' +
      'time and zone.',
  }),
  group_types: Type.Array(Type.String(), {
    description:
      'With `source` `group`: the types of the groups that have the property, such as `company`. ' +
      'The most frequent 20 come first.',
  }),
};

/** A column of the schema. */
export const SchemaColumn = titled('SchemaColumn', {
  id: text('Project, source and column, joined by dots.'),
  source,
  property,
  type,
  column: text('Its name at destinations, which no other property or type ever gets.'),
  is_filled: flag('False: it was removed, and its values go into the rest column.'),
  added_in: whole('Number of the first schema with it.'),
  ...counts,
  created_at: instant('When it was first created.'),
  managed_by: ManagedBy,
});
export type SchemaColumn = Static<typeof SchemaColumn>;

/** A type that the catalogue proposes for a property without a column. */
export const SchemaProposal = titled('SchemaProposal', {
  source,
  property,
  type,
  column: nullable(text('The name of its column; null: the schema is full.')),
  ...counts,
  namesakes: Type.Array(Type.String(), {
    description: 'Properties with a column whose names differ only in spelling.',
  }),
});
export type SchemaProposal = Static<typeof SchemaProposal>;

const schema_number = whole('The number of the schema; every change of it adds one.');

/** A page of columns. */
export const SchemaColumns = titled('SchemaColumnList', {
  ...pageOf(SchemaColumn).properties,
  schema_number,
});

/** A page of proposals. */
export const SchemaProposals = pageOf(SchemaProposal);

/** The query parameters of the list of columns. */
export const SchemaColumnQuery = Type.Object({
  ...PageQuery.properties,
  source: Type.Optional(source),
  is_filled: Type.Optional(flag('True: only active columns. False: only removed columns.')),
});

/** The body of POST. */
export const NewSchemaColumn = Type.Object({
  property,
  type,
  source: Type.Optional(
    Type.Enum([...property_sources], { description: 'Default `event`: a property of events.' }),
  ),
});
export type NewSchemaColumn = Static<typeof NewSchemaColumn>;

/** Most properties of one `freeze/` request. */
const frozen_at_once_max = 500;

/** The body of `freeze/`. */
export const SchemaFreeze = Type.Object({
  properties: Type.Optional(
    Type.Array(
      Type.Object({
        ...NewSchemaColumn.properties,
        type: Type.Optional(
          Type.Enum([...property_types], { description: 'Default: the proposed type.' }),
        ),
      }),
      {
        minItems: 1,
        maxItems: frozen_at_once_max,
        description: 'Default all that are proposed.',
      },
    ),
  ),
});
export type SchemaFreeze = Static<typeof SchemaFreeze>;

/** The answer of `freeze/`. */
export const SchemaFrozen = titled('SchemaFrozen', {
  schema_number,
  frozen: Type.Array(Type.String(), { description: 'The created columns, by name.' }),
  left_out: Type.Array(Type.String(), {
    description: 'Properties that have no column because the schema is full.',
  }),
});
