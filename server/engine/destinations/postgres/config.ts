import { Type } from 'typebox';
import type { Static } from 'typebox';
import { schemaTarget } from '../sql_tables/target.ts';
import type { SchemaTarget } from '../sql_tables/target.ts';
import type { ServerAccess } from '../sql_tables/postgres/connection.ts';
import { defaultPort, defaultText, requiredText } from '../../model/destination/config_keys.ts';
import { sshAccessOf, ssh_keys } from '../sql_tables/ssh/ssh_config.ts';
import { require_tls_key, self_signed_key, tableKey } from '../sql_tables/config_rules.ts';

/** The keys of a PostgreSQL destination. */
export const postgres_config = Type.Object(
  {
    host: requiredText(253),
    port: defaultPort(5432),
    database: requiredText(63),
    user: requiredText(200, 'A role that may create the table or write to it.'),
    password: requiredText(1000),
    schema: defaultText('public', 63, 'It must exist.'),
    table_name: tableKey(63),
    require_tls: require_tls_key,
    has_self_signed_cert: self_signed_key,
    ...ssh_keys,
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type PostgresConfig = Static<typeof postgres_config>;

/** Returns the target as `"schema"."table"`, with its parts. */
export function targetOf(config: PostgresConfig): SchemaTarget {
  return schemaTarget(config);
}

/**
 * Returns the access to the server; its sessions use UTC and UTF-8, and write instants like ISO.
 */
export function accessOf(config: PostgresConfig): ServerAccess {
  return {
    ...config,
    port: config.port ?? 5432,
    ssh: sshAccessOf(config),
    session: "SET TIME ZONE 'UTC'; SET client_encoding = 'UTF8'; SET DateStyle = 'ISO'",
  };
}
