import type {
  ConfigViolation,
  DestinationDefinition,
} from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import {
  database_connection,
  database_secrets,
  database_where,
  only_with_ssh,
  sshViolations,
  ssh_ways,
} from '../sql_tables/ssh/ssh_config.ts';
import { tableReaders } from '../sql_tables/delivered_table.ts';
import { postgresError } from '../sql_tables/postgres/faults.ts';
import { checkPostgres } from './check.ts';
import { postgres_config } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { openPostgres } from './dialect.ts';
import { openPostgresSink } from './sink.ts';
import { violation } from '../../model/destination/violation.ts';
import { rejectedNameFault } from '../sql_tables/target.ts';
import { hostViolations, receiptsViolations } from '../sql_tables/config_rules.ts';

/** A table in the user's PostgreSQL; rows and receipt appear in one transaction. */
export const postgres: DestinationDefinition<typeof postgres_config> = {
  type: 'Postgres',
  label: 'PostgreSQL',
  config: postgres_config,
  secrets: database_secrets,
  where: database_where,
  connection: database_connection,
  only_with: [only_with_ssh],
  ways: ssh_ways,
  less_safe: { has_self_signed_cert: true, require_tls: false },
  host: ({ host, ssh_host }) => ssh_host || host,
  column_set: 'tables',
  is_settled_by_abort: true,
  erases: 'by_key',
  repairs_rows: true,
  setAsideFault: ({ table_name = 'events' }) => rejectedNameFault(table_name, 63),
  validate: violations,
  columnFaults,
  encoding: () => ({ format: 'TabSeparated', compression: null }),
  open: openPostgresSink,
  check: checkPostgres,
  ...tableReaders(openPostgres, () => postgresError),
};

const system_columns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);
const columns_max = 1_600;

function columnFaults(columns: Column[]): string[] {
  const long = columns
    .filter(({ name }) => Buffer.byteLength(name) > 63)
    .map(
      ({ name }) =>
        `PostgreSQL accepts names of at most 63 bytes: give the column \`${name}\` a shorter ` +
        'alias.',
    );
  const taken = columns
    .filter(({ name }) => system_columns.has(name))
    .map(
      ({ name }) => `PostgreSQL has a column \`${name}\` in every table. Give yours another alias.`,
    );
  return [
    ...long,
    ...taken,
    ...(columns.length > columns_max
      ? [`A table of PostgreSQL has at most ${columns_max} columns.`]
      : []),
  ];
}

function violations(config: PostgresConfig): ConfigViolation[] {
  const found = [
    ...hostViolations(config.host),
    ...sshViolations(config),
    ...receiptsViolations(config.table_name),
  ];
  for (const attr of ['user', 'password', 'database', 'schema', 'table_name'] as const) {
    if (config[attr]?.includes('\0') === true) found.push(violation(attr, 'It must not hold NUL.'));
    if (attr !== 'user' && attr !== 'password' && Buffer.byteLength(config[attr] ?? '') > 63)
      found.push(violation(attr, 'PostgreSQL accepts names of at most 63 bytes.'));
  }
  return found;
}
