import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { defaultPort, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import {
  hostViolations,
  nulViolations,
  receiptsViolations,
  require_tls_key,
  self_signed_key,
  tableKey,
} from '../sql_tables/config_rules.ts';
import { sshViolations, ssh_keys } from '../sql_tables/ssh/ssh_config.ts';
import { rejectedName } from '../sql_tables/target.ts';
import type { RejectingTarget } from '../sql_tables/target.ts';

/** The keys of a MySQL destination. */
export const mysql_config = Type.Object(
  {
    host: requiredText(253),
    port: defaultPort(3306),
    database: requiredText(64, 'It must exist.'),
    user: requiredText(80, 'A user that may create tables and write to them.'),
    password: requiredText(1000),
    table_name: tableKey(64),
    require_tls: require_tls_key,
    has_self_signed_cert: self_signed_key,
    ...ssh_keys,
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type MySqlConfig = Static<typeof mysql_config>;

/** Returns the target's quoted name, its parts, and the name for users. */
export function targetOf(config: MySqlConfig): RejectingTarget {
  const table = config.table_name ?? 'events';
  return {
    table,
    quoted: inDatabase(config, table),
    receipts: inDatabase(config, 'sluice_receipts'),
    rejected: inDatabase(config, rejectedName(table)),
    name: `${config.database}.${table}`,
  };
}

/** Returns a table's quoted name, with the database of the config. */
export function inDatabase(config: MySqlConfig, table: string): string {
  return `${quoted(config.database)}.${quoted(table)}`;
}

/** Returns a name as a quoted SQL identifier. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** Checks rules that the schema cannot express. */
export function mySqlViolations(config: MySqlConfig): ConfigViolation[] {
  const found = [
    ...hostViolations(config.host),
    ...sshViolations(config),
    ...receiptsViolations(config.table_name?.toLowerCase()),
    ...nulViolations(config, ['user', 'password', 'database', 'table_name']),
  ];
  for (const attr of ['database', 'table_name'] as const) {
    // A name's characters must be in the basic plane, and the server refuses a trailing blank.
    if (/[\u{10000}-\u{10ffff}]| $/u.test(config[attr] ?? ''))
      found.push(
        violation(
          attr,
          'MySQL accepts no names with characters beyond U+FFFF or a space at the end.',
        ),
      );
  }
  return found;
}
