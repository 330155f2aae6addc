import { Type } from 'typebox';
import type { Static } from 'typebox';
import { model_names } from '../../engine/model/models/model.ts';
import { nullable } from '../../platform/nullable.ts';

const model = Type.Enum([...model_names], {
  description: "The model of the query's export, which decides the rows of the tables.",
});

export const QueryToValidate = Type.Object({
  query: Type.String({ description: 'The text of the query.' }),
  model: Type.Optional(model),
});

/** The validation of a query. */
export const QueryValidation = Type.Object(
  {
    is_valid: Type.Boolean({ description: 'Whether an export can have this query.' }),
    model,
    is_row_wise: Type.Boolean({
      description:
        'True if each row is one row of the model, so that a run is written in slices. False ' +
        'for a query with errors.',
    }),
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
        line: Type.Integer({ description: 'From 1.' }),
        column: Type.Integer({ description: 'In characters (code points), from 1.' }),
        length: Type.Integer({
          description: 'Length of the piece in the query, in characters (code points).',
        }),
        piece: Type.String({ description: 'The text there, cut after 80 characters.' }),
        detail: Type.String({ description: 'The error and what to do.' }),
        suggestion: nullable(
          Type.String({ description: 'The probable intention, spelled correctly.' }),
        ),
      }),
      { description: 'All errors, in the order of the text.' },
    ),
  },
  { title: 'QueryValidation' },
);
export type QueryValidation = Static<typeof QueryValidation>;

/** The elements of queries. */
export const QueryLanguage = Type.Object(
  {
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
        meaning: Type.String({ description: 'The result, in Markdown.' }),
      }),
      { description: 'All functions that a query can call.' },
    ),
  },
  { title: 'QueryLanguage' },
);
export type QueryLanguage = Static<typeof QueryLanguage>;
