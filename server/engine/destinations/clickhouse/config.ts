import { Type } from 'typebox';
import type { Static } from 'typebox';
import { isPlainBase } from '../../../platform/outbound/plain_address.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { identifier } from '../formats/expression.ts';
import { defaultText, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import {
  nulViolations,
  ownNameViolations,
  self_signed_key,
  tableKey,
} from '../sql_tables/config_rules.ts';
import type { Target } from '../sql_tables/target.ts';

/** The keys of a ClickHouse destination. */
export const clickhouse_config = Type.Object(
  {
    url: requiredText(
      2048,
      'The HTTP interface of one server, such as https://clickhouse.example.com:8443. With http, ' +
        'the password and the rows are sent unencrypted.',
    ),
    database: defaultText('default', 150, 'It must exist.'),
    user: defaultText('default', 200, 'A user that may create tables and write to them.'),
    password: Type.String({
      maxLength: 1000,
      description: 'Leave it empty for a user without a password.',
    }),
    table_name: tableKey(150),
    has_self_signed_cert: self_signed_key,
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type ClickHouseConfig = Static<typeof clickhouse_config>;

/**
 * Returns the target's parts, its quoted name, that of the table of receipts, and the name for
 * users.
 */
export function targetOf(config: ClickHouseConfig): Target & { database: string } {
  const database = config.database ?? 'default';
  const table = config.table_name ?? 'events';
  return {
    database,
    table,
    quoted: inDatabase(config, table),
    receipts: inDatabase(config, 'sluice_receipts'),
    name: `${database}.${table}`,
  };
}

/**
 * Returns the compression of rows on their way. Between two processes of one machine, packing and
 * unpacking cost more than the bytes.
 */
export function compressionTo({ url }: Pick<ClickHouseConfig, 'url'>): 'zstd' | null {
  const { protocol, hostname } = new URL(url);
  const isHere = protocol === 'http:' && /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return isHere ? null : 'zstd';
}

/** Returns a table's quoted name, with the database of the config. */
export function inDatabase(config: ClickHouseConfig, table: string): string {
  return `${identifier(config.database ?? 'default')}.${identifier(table)}`;
}

/** Checks rules that the schema cannot express. */
export function clickHouseViolations(config: ClickHouseConfig): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  if (!isPlainBase(config.url))
    found.push(
      violation('url', 'The url must be an http or https address without user, query or fragment.'),
    );
  // The client reads a path as the name of a database, and sends requests to the root.
  else if (new URL(config.url).pathname !== '/')
    found.push(
      violation('url', 'The url must have no path: put the name of the database into database.'),
    );
  found.push(...ownNameViolations(config.table_name));
  // ClickHouse creates a folder for each name, escaped.
  for (const attr of ['database', 'table_name'] as const)
    if (Buffer.byteLength(encodeURIComponent((config[attr] ?? '').toWellFormed())) > 200)
      found.push(violation(attr, 'The name is too long for ClickHouse.'));
  return [...found, ...nulViolations(config, ['user', 'password', 'database', 'table_name'])];
}
