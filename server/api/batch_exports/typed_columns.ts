import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { isTypable, typable_models } from '../../engine/model/schema/typed_relation.ts';
import type { TypableModel, TypedColumn } from '../../engine/model/schema/typed_relation.ts';
import { property_types } from '../../engine/model/schema/property_type.ts';
import type { ModelName } from '../../engine/model/models/model.ts';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { text, whole } from '../../platform/http/schemas.ts';
import { nullable } from '../../platform/nullable.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

/** Ways to treat properties that the project's schema gets later. */
export const new_columns_modes = ['add', 'wait'] as const;

const columns = nullable(
  Type.Enum(['typed'], {
    description:
      'How properties are exported. Null: as one column of JSON. `typed`: each property of ' +
      "the project's schema is a column of its own, and `properties_rest` has the others and " +
      'every value that does not fit (docs/typed_columns.md). Only for `events`, `persons` ' +
      'and `groups`, without a query. A change restarts the export.',
  }),
);
const new_columns = Type.Enum([...new_columns_modes], {
  description:
    'Treatment of properties that the schema gets later. `add` (default): the next run ' +
    'exports them, and adds their columns to the table. `wait`: they stay in ' +
    '`properties_rest` until somebody sets `schema_number`. Used with `columns` `typed`.',
});
const schema_number = nullable(
  Type.Integer({
    minimum: 0,
    description:
      "With `new_columns` `wait`: the number of the project's schema whose columns are exported, " +
      'by default the newest one at that moment. Null otherwise.',
  }),
);

const schema_columns = Type.Array(
  Type.Object({
    property: Type.String(),
    type: Type.Enum([...property_types]),
    column: text('Its name at the destination.'),
  }),
);
const waiting_schema = nullable(
  Type.Object(
    {
      schema_number: whole('The number to set as `schema_number`.'),
      added: schema_columns,
      removed: schema_columns,
    },
    {
      description:
        "The newest schema of the project, if its columns differ from the export's and have " +
        'not been adopted: to adopt it, PATCH `schema_number` to its number. Null: the ' +
        'export has the columns of the newest schema.',
    },
  ),
);

/** The fields of typed columns in answers. */
export const typed_answers = { columns, new_columns, schema_number, waiting_schema };

/** Selects these fields of an export `e`. */
export const typed_columns = sql`e.columns, e.new_columns, e.schema_number,
  CASE WHEN e.columns = 'typed' AND e.new_columns = 'wait' THEN (
    SELECT schema_changes(e.team_id, e.model, e.schema_number, own.schema_number)
    FROM projects own WHERE own.id = e.team_id AND own.schema_number > e.schema_number
  ) END AS waiting_schema`;

/** The fields that are also settings of a configuration. */
export const typed_settings = {
  columns: Type.Optional(columns),
  new_columns: Type.Optional(new_columns),
};

/** Fields of a body beyond the settings. */
export const typed_inputs = { schema_number: Type.Optional(schema_number) };

/** The fields in their stored form. */
export type TypedFields = {
  columns: 'typed' | null;
  new_columns: (typeof new_columns_modes)[number];
  schema_number: number | null;
};

/** The fields of an export without typed columns. */
const no_typed_fields: TypedFields = {
  columns: null,
  new_columns: 'add',
  schema_number: null,
};

/** The newest schema of an export's project. */
export type NewestSchema = { schema_number: number } & Record<TypableModel, TypedColumn[]>;

/** The project's fields that the checks of an export need. */
export type OfProject = { project_timezone: string; project_schema: NewestSchema };

/** The schema number of a project without a schema. */
export const no_schema: NewestSchema = { schema_number: 0, events: [], persons: [], groups: [] };

/** The newest schema of a project `p` as JSON. */
export const newest_schema = sql`(
  SELECT jsonb_build_object('schema_number', p.schema_number) ||
    jsonb_object_agg(model, schema_columns_at(p.id, model, p.schema_number))
  FROM unnest(${[...typable_models]}::text[]) AS model)`;

/** Returns the newest schema of a project, or the empty schema if there is no such project. */
export async function findNewestSchema(db: Queryable, team_id: number): Promise<NewestSchema> {
  const row = await db.row<{ schema: NewestSchema }>(
    sql`SELECT ${newest_schema} AS schema FROM projects p WHERE p.id = ${team_id}`,
  );
  return row?.schema ?? no_schema;
}

/**
 * Returns the fields after a body was applied, and their violations. Absent fields keep their
 * values. With `wait`, the number starts as the newest one.
 */
export function checkTypedFields(
  raw: unknown,
  { model, custom_query }: { model: ModelName; custom_query: string | null },
  newest: NewestSchema,
  before: TypedFields = no_typed_fields,
): { fields: TypedFields; violations: Violation[] } {
  const sent: Fields = isFields(raw) ? raw : {};
  const columns =
    sent['columns'] === null ? null : sent['columns'] === 'typed' ? 'typed' : before.columns;
  const new_columns =
    new_columns_modes.find((mode) => mode === sent['new_columns']) ?? before.new_columns;
  const waits = columns !== null && new_columns === 'wait';
  const number = sent['schema_number'] ?? undefined;
  const schema_number = waits
    ? Number.isSafeInteger(number)
      ? (number as number)
      : (before.schema_number ?? newest.schema_number)
    : null;
  const violations: Violation[] = [];
  if (columns !== null && !(isTypable(model) && custom_query === null))
    violations.push({
      attr: 'columns',
      code: 'invalid_choice',
      detail:
        custom_query === null
          ? 'Only events, persons and groups have typed columns: send null, or such a model.'
          : 'The columns of a query are what it selects: send null, or no `custom_query`.',
    });
  if (number !== undefined && number !== before.schema_number && !waits)
    violations.push({
      attr: 'schema_number',
      code: 'invalid_input',
      detail: 'It counts only with `columns` "typed" and `new_columns` "wait": send null.',
    });
  if (schema_number !== null && schema_number > newest.schema_number)
    violations.push({
      attr: 'schema_number',
      code: 'max_value',
      detail: `The newest schema of the project has the number ${newest.schema_number}.`,
    });
  return { fields: { columns, new_columns, schema_number }, violations };
}

/** Returns the columns of the newest schema that an export with these fields may name. */
export function typedOf(
  { columns }: TypedFields,
  model: ModelName,
  newest: NewestSchema,
): TypedColumn[] | null {
  return columns === null || !isTypable(model) ? null : newest[model];
}
