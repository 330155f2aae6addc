import { Type } from 'typebox';
import type { Static } from 'typebox';
import { schemaTarget } from '../../sql_tables/schema_target.ts';
import type { SchemaTarget } from '../../sql_tables/schema_target.ts';
import type { ServerAccess } from '../../sql_tables/postgres_connection.ts';

/** The keys of a PostgreSQL destination. */
export const postgres_config = Type.Object(
  {
    user: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Role that owns or may write the table.',
    }),
    password: Type.String({ minLength: 1, maxLength: 1000, description: 'Password of the role.' }),
    host: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Host name or address of the server.',
    }),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        default: 5432,
        description: 'Port of the server.',
      }),
    ),
    database: Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'Database that holds the table.',
    }),
    schema: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        default: 'public',
        description: 'Schema that holds the table; it must exist.',
      }),
    ),
    table_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 63,
        default: 'events',
        description: 'Table to write to; created when it is not there, never altered.',
      }),
    ),
    has_self_signed_cert: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'TLS without a check of the certificate, for servers that signed their own.',
      }),
    ),
    require_tls: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'False: where the server offers no TLS, connect without it. Only for private ' +
          'networks: the password and the data travel unprotected.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys, as far as a user has set them. */
export type PostgresConfig = Static<typeof postgres_config>;

/** The target as `"schema"."table"` and its parts. */
export function targetOf(config: PostgresConfig): SchemaTarget {
  return schemaTarget(config);
}

/** How the server is reached; its sessions speak UTC and UTF-8. */
export function accessOf(config: PostgresConfig): ServerAccess {
  return {
    ...config,
    port: config.port ?? 5432,
    session: "SET TIME ZONE 'UTC'; SET client_encoding = 'UTF8'",
  };
}
