import { Type } from 'typebox';
import type { Static } from 'typebox';
import { schemaTarget } from '../sql_tables/target.ts';
import type { SchemaTarget } from '../sql_tables/target.ts';
import type { ServerAccess } from '../sql_tables/postgres_connection.ts';
import {
  defaultFlag,
  defaultPort,
  defaultText,
  requiredText,
} from '../../model/destination/config_keys.ts';
import { sshAccessOf, ssh_keys } from '../sql_tables/ssh/ssh_config.ts';
import { self_signed_key, tableKey } from '../sql_tables/config_rules.ts';

/** The keys of a PostgreSQL destination. */
export const postgres_config = Type.Object(
  {
    user: requiredText(200, 'Role that owns or may write the table.'),
    password: requiredText(1000, 'Password of the role.'),
    host: requiredText(253, 'Host name or address of the server.'),
    port: defaultPort(5432, 'Port of the server.'),
    database: requiredText(63, 'Database that holds the table.'),
    schema: defaultText('public', 63, 'Schema that holds the table; it must exist.'),
    table_name: tableKey(63),
    has_self_signed_cert: self_signed_key,
    require_tls: defaultFlag(
      true,
      'False: where the server offers no TLS, connect without it. Only for private ' +
        'networks: the password and the data travel unprotected.',
    ),
    ...ssh_keys,
  },
  { additionalProperties: false },
);

/** The values of the keys, as far as a user has set them. */
export type PostgresConfig = Static<typeof postgres_config>;

/** The target as `"schema"."table"` and its parts. */
export function targetOf(config: PostgresConfig): SchemaTarget {
  return schemaTarget(config);
}

/**
 * Returns the access to the server; its sessions use UTC and UTF-8, and write instants as ISO does.
 */
export function accessOf(config: PostgresConfig): ServerAccess {
  return {
    ...config,
    port: config.port ?? 5432,
    ssh: sshAccessOf(config),
    session: "SET TIME ZONE 'UTC'; SET client_encoding = 'UTF8'; SET DateStyle = 'ISO'",
  };
}
