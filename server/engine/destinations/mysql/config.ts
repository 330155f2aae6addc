import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../destination/destination.ts';
import { hostViolations } from '../../sql_tables/host.ts';

/** The keys of a MySQL destination. */
export const mysql_config = Type.Object(
  {
    user: Type.String({
      minLength: 1,
      maxLength: 80,
      description: 'User that may create and write the tables.',
    }),
    password: Type.String({ minLength: 1, maxLength: 1000, description: 'Password of the user.' }),
    host: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Host name or address of the server.',
    }),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        default: 3306,
        description: 'Port of the server.',
      }),
    ),
    database: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Database that holds the table; it must exist.',
    }),
    table_name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
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
          'networks: the data travel unprotected.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys, as far as a user has set them. */
export type MySqlConfig = Static<typeof mysql_config>;

/** The target's quoted name, its parts, and how users are told of it. */
export function targetOf(config: MySqlConfig): {
  table: string;
  quoted: string;
  receipts: string;
  name: string;
} {
  const table = config.table_name ?? 'events';
  return {
    table,
    quoted: inDatabase(config, table),
    receipts: inDatabase(config, 'sluice_receipts'),
    name: `${config.database}.${table}`,
  };
}

/** A table's name, quoted, with the database of the config. */
export function inDatabase(config: MySqlConfig, table: string): string {
  return `${quoted(config.database)}.${quoted(table)}`;
}

/** A name as a quoted SQL identifier. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** Violations of rules that the schema cannot say. */
export function mySqlViolations(config: MySqlConfig): ConfigViolation[] {
  const found = hostViolations(config.host);
  if (config.table_name?.toLowerCase() === 'sluice_receipts')
    found.push({
      attr: 'table_name',
      code: 'invalid_input',
      detail: 'The table sluice_receipts is used for receipts; choose another name.',
    });
  for (const attr of ['user', 'password', 'database', 'table_name'] as const) {
    if (config[attr]?.includes('\0') === true)
      found.push({ attr, code: 'invalid_input', detail: 'It must not hold NUL.' });
  }
  for (const attr of ['database', 'table_name'] as const) {
    // A name's characters must be of the basic plane, and a blank at the end is refused by the
    // server.
    if (/[\u{10000}-\u{10ffff}]| $/u.test(config[attr] ?? ''))
      found.push({
        attr,
        code: 'invalid_input',
        detail: 'MySQL takes no names with characters beyond U+FFFF or a blank at the end.',
      });
  }
  return found;
}
