import { Type } from 'typebox';
import type { Static } from 'typebox';
import { destinations } from '../../../engine/destinations/index.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { ManagedBy } from '../../managed/schema.ts';

const types = destinations.filter(({ connection }) => connection !== undefined);

const keysOf = (description: string) =>
  Type.Unsafe<Record<string, unknown>>(
    Type.Object({}, { additionalProperties: true, description }),
  );

const keys = keysOf(
  "The destination type's `connection_keys` (`GET /api/destinations/`). Secret keys are " +
    'never returned.',
);

const fields = {
  name: lineOfText(200, 'A name for people.'),
  type: Type.Enum(
    types.map(({ type }) => type),
    { description: 'The type of destination.' },
  ),
};

const Using = Type.Object({
  id: uuid(),
  team_id: whole('Its project.'),
  name: Type.String(),
});

/** Most exports that a connection lists by name. */
export const named_exports_max = 100;

/** The connection in answers. */
export const Connection = titled('Connection', {
  id: uuid(),
  name: text('A name for people.'),
  type: fields.type,
  config: keysOf('Address and sign-in of the other side, without secret keys.'),
  secret_keys: Type.Array(Type.String(), {
    description: 'Keys of the config with a stored secret; no value is ever shown.',
  }),
  batch_export_count: whole('How many batch exports use it.'),
  batch_exports: Type.Array(Using, {
    description: `The batch exports that use it, at most ${named_exports_max}, by name.`,
  }),
  created_at: instant('When it was created.'),
  last_updated_at: instant('When it was changed last.'),
  managed_by: ManagedBy,
});
export type Connection = Static<typeof Connection>;

/** The body of POST. */
export const ConnectionCreate = Type.Object({ ...fields, config: keys });

/** The body of PUT: the config is replaced, except for secrets that were not sent. */
export const ConnectionReplacement = Type.Object({
  name: fields.name,
  type: Type.Optional(fields.type),
  config: keys,
});

/** The body of PATCH: absent fields keep their values, and the config is merged key by key. */
export const ConnectionPatch = Type.Object({
  name: Type.Optional(fields.name),
  type: Type.Optional(fields.type),
  config: Type.Optional(keys),
});

const own_keys = keysOf(
  'Keys of an export that the destination type requires in addition to the connection, such ' +
    'as a bucket.',
);

/** The body of `test/` of a connection. */
export const ConnectionTest = Type.Object({
  config: Type.Optional(own_keys),
  connection: Type.Optional(
    keysOf('Changes of the connection to be tested before they are saved, as PATCH takes them.'),
  ),
});

/** The body of `test/` of a connection that is not created yet. */
export const NewConnectionTest = Type.Object({
  type: fields.type,
  connection: keys,
  config: Type.Optional(own_keys),
});
