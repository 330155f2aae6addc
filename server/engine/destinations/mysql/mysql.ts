import type { DestinationDefinition } from '../../model/destination/destination.ts';
import {
  database_connection,
  database_secrets,
  database_where,
  only_with_ssh,
  ssh_ways,
} from '../sql_tables/ssh/ssh_config.ts';
import { tableReaders } from '../sql_tables/delivered_table.ts';
import { rejectedNameFault } from '../sql_tables/target.ts';
import { checkMySql } from './check.ts';
import { mysql_config, mySqlViolations } from './config.ts';
import { openMySql } from './dialect.ts';
import { mySqlError } from './faults.ts';
import { openMySqlSink } from './sink.ts';
import { mySqlColumnFaults } from './table.ts';

/** A table in the user's MySQL or MariaDB; rows and receipt in one transaction. */
export const mysql: DestinationDefinition<typeof mysql_config> = {
  type: 'MySQL',
  label: 'MySQL',
  config: mysql_config,
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
  setAsideFault: ({ table_name = 'events' }) => rejectedNameFault(table_name, 64),
  validate: mySqlViolations,
  columnFaults: mySqlColumnFaults,
  encoding: () => ({ format: 'TabSeparated', compression: null, is_exact: true, is_bare: true }),
  open: openMySqlSink,
  check: checkMySql,
  ...tableReaders(openMySql, () => mySqlError),
};
