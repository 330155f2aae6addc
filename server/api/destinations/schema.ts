import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import type { DestinationDefinition } from '../../engine/model/destination/destination.ts';
import { configSchemaOf } from '../../engine/model/models/event_filter.ts';
import { model_names } from '../../engine/model/models/model.ts';

const keys = (description: string) => Type.Array(Type.String(), { description });

const Column = Type.Object({
  name: Type.String(),
  type: Type.String({ description: 'The kind of its values, such as `text` or `timestamp`.' }),
  nullable: Type.Boolean(),
});

const FormatChoice = Type.Object({
  key: Type.String({ description: 'The key of the config that says it.' }),
  format: Type.String({ description: 'The value of that key.' }),
  compressions: Type.Array(Type.String(), {
    description: 'What `compression` may be with it; none (null) is possible as well.',
  }),
});

/** A destination type as it is on the wire. */
export const DestinationType = Type.Object(
  {
    type: Type.String({ description: 'Value of `destination.type` in an export.' }),
    label: Type.String({ description: 'Its name for people.' }),
    config: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description:
        'JSON Schema of `destination.config`. Each key has a `title` and a `description`, ' +
        'its `default` where it has one, and `examples` where they help; secret keys are ' +
        '`writeOnly`.',
    }),
    secret_keys: keys('Keys that are encrypted at rest and never come back.'),
    where_keys: keys(
      'Keys that say where the secrets go, or as whom: after a change of one, each secret that ' +
        'is kept has to be sent again.',
    ),
    connection_keys: keys(
      'Keys that a connection has (docs/connections.md): an export that uses one has the others. ' +
        'Empty: there are no connections of this type.',
    ),
    less_safe: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description:
        'Of `where_keys`: the value that makes the way less safe. A change to another value ' +
        'asks for nothing.',
    }),
    only_with: Type.Array(
      Type.Object({
        keys: keys('Keys that mean something only while ...'),
        key: Type.String({ description: '... this one ...' }),
        values: Type.Array(Type.String(), {
          description: '... has one of these values; without a list, any value.',
        }),
      }),
      { description: 'What a form leaves out.' },
    ),
    formats: Type.Array(FormatChoice, {
      description: 'Formats of its files or bodies, the default first; empty for tables.',
    }),
    models: Type.Array(
      Type.Object({
        model: Type.Enum([...model_names]),
        columns: Type.Array(Column, { description: 'Columns delivered without a query.' }),
      }),
      { description: 'What can be exported to it.' },
    ),
    shows_as_written: Type.Boolean({
      description:
        'True where the receiver sees each part as it is written and nothing can be read again.',
    }),
    sets_rows_aside: Type.Boolean({
      description: 'True where `rejected_rows` of an export can be `set_aside`.',
    }),
  },
  { title: 'DestinationType' },
);
/** A destination type as it is on the wire. */
export type DestinationType = Static<typeof DestinationType>;

/** The answer of the list: all types, in one page. */
export const DestinationTypes = Type.Object(
  {
    count: Type.Integer({ description: 'Number of all results.' }),
    results: Type.Array(DestinationType),
  },
  { title: 'DestinationTypeList' },
);

/**
 * The schema of a destination's config as users may send it: its keys and those that every
 * destination has, secret ones marked as write-only.
 */
export function documentedConfig(definition: DestinationDefinition): TObject {
  const config = configSchemaOf(definition);
  const properties = Object.fromEntries(
    Object.entries(config.properties).map(([key, schema]) => [
      key,
      definition.secrets.includes(key) ? { ...schema, writeOnly: true } : schema,
    ]),
  );
  return { ...config, properties };
}
