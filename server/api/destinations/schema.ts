import { Type } from 'typebox';
import type { Static, TObject } from 'typebox';
import type { DestinationDefinition } from '../../engine/model/destination/destination.ts';
import { configSchemaOf } from '../../engine/model/models/event_filter.ts';
import { model_names } from '../../engine/model/models/model.ts';
import { flag, text, titled, whole } from '../../platform/http/schemas.ts';

const keys = (description: string) => Type.Array(Type.String(), { description });

const Column = Type.Object({
  name: Type.String(),
  type: text('The type of the values, such as `text` or `timestamp`.'),
  nullable: Type.Boolean(),
});

const FormatChoice = Type.Object({
  key: text('The key of the config that chooses the format.'),
  format: text('The value of that key.'),
  compressions: Type.Array(Type.String(), {
    description: 'The compressions of the format. Null (no compression) always works.',
  }),
});

/** A destination type in answers. */
export const DestinationType = titled('DestinationType', {
  type: text('The value of `destination.type` in an export.'),
  label: text('The name to show to people.'),
  group: text('The group, such as `Databases`.'),
  about: text('One sentence for people who choose a destination.'),
  config: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description:
      'JSON Schema of `destination.config`. Each key has a `title`, and a `description` if ' +
      'the title is not enough. `default` and `examples` are optional. Secret keys are ' +
      '`writeOnly`.',
  }),
  seldom_keys: keys('Keys that few people set, which a form shows on demand.'),
  secret_keys: keys('Keys that are encrypted at rest and never returned.'),
  where_keys: keys(
    'Keys that decide where Sluice sends the secrets, or as which user it signs in. If you ' +
      'change one, send every secret again.',
  ),
  connection_keys: keys(
    'Keys that a connection holds (docs/connections.md). An export that uses a connection has ' +
      'the other keys. If empty, this type has no connections.',
  ),
  less_safe: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description:
      'The less safe value of some `where_keys`. Changing to another value does not ' +
      'require the secrets again.',
  }),
  only_with: Type.Array(
    Type.Object({
      keys: keys('Keys that only have an effect while ...'),
      key: text('... this one ...'),
      values: Type.Array(Type.String(), {
        description: '... has one of these values; without a list, any value.',
      }),
    }),
    { description: 'Keys that a form hides, depending on other keys.' },
  ),
  formats: Type.Array(FormatChoice, {
    description: 'Formats of its files or bodies, the default first. Empty for tables.',
  }),
  models: Type.Array(
    Type.Object({
      model: Type.Enum([...model_names]),
      columns: Type.Array(Column, { description: 'Columns delivered without a query.' }),
    }),
    { description: 'Models that it can receive.' },
  ),
  shows_as_written: flag(
    'True if the receiver sees each part at once and Sluice cannot read it back.',
  ),
  folder: Type.Optional(
    text("For files on the server: the server's export folder, as its operator names it."),
  ),
  missing_package: Type.Optional(
    text(
      'How the operator installs the package that this type needs. Absent if the server ' +
        'has the package.',
    ),
  ),
  sets_rows_aside: flag('True if `rejected_rows` of an export can be `set_aside`.'),
  merges_rows: flag('True if `mode` of an export can be `merge`.'),
});
export type DestinationType = Static<typeof DestinationType>;

/** The answer of the list: all types, on one page. */
export const DestinationTypes = titled('DestinationTypeList', {
  count: whole('Number of all results.'),
  results: Type.Array(DestinationType),
});

/**
 * Returns the schema of a destination's config for users: its own keys and the keys of all
 * destinations; secret keys are write-only.
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
