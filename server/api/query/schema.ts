import { Type } from 'typebox';
import type { Static } from 'typebox';
import { model_names } from '../../engine/model/models/model.ts';
import { flag, text, titled, whole } from '../../platform/http/schemas.ts';
import { nullable } from '../../platform/nullable.ts';

const model = Type.Enum([...model_names], {
  description: "The model of the query's export, which decides the rows of the tables.",
});

/** The body of `query/validate/`. */
export const QueryToValidate = Type.Object({
  query: text('The text of the query.'),
  model: Type.Optional(model),
});

/** The validation of a query. */
export const QueryValidation = titled('QueryValidation', {
  is_valid: flag('Whether an export can have this query.'),
  model,
  is_row_wise: flag(
    'True if each row is one row of the model, so that a run is written in slices. False ' +
      'for a query with errors.',
  ),
  columns: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.Enum([
        'uuid',
        'text',
        'json',
        'timestamp',
        'date',
        'decimal',
        'integer',
        'float',
        'boolean',
      ]),
      nullable: Type.Boolean(),
    }),
    { description: 'The columns of the export; none for a query with errors.' },
  ),
  errors: Type.Array(
    Type.Object({
      line: whole('From 1.'),
      column: whole('In characters (code points), from 1.'),
      length: whole('Length of the piece in the query, in characters (code points).'),
      piece: text('The text there, cut after 80 characters.'),
      detail: text('The error and what to do.'),
      suggestion: nullable(text('The probable intention, spelled correctly.')),
    }),
    { description: 'All errors, in the order of the text.' },
  ),
});
export type QueryValidation = Static<typeof QueryValidation>;

/** The elements of queries. */
export const QueryLanguage = titled('QueryLanguage', {
  tables: Type.Array(
    Type.Object({
      name: Type.String(),
      columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
    }),
  ),
  functions: Type.Array(
    Type.Object({
      name: Type.String(),
      signature: Type.String(),
      meaning: text('The result, in Markdown.'),
    }),
    { description: 'All functions that a query can call.' },
  ),
});
export type QueryLanguage = Static<typeof QueryLanguage>;
