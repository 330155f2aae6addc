import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { tableReaders } from '../sql_tables/delivered_table.ts';
import { rejectedNameFault } from '../sql_tables/target.ts';
import { checkSnowflake } from './check.ts';
import { addressOf, snowflake_config, snowflakeViolations } from './config.ts';
import { openSnowflake } from './dialect.ts';
import { snowflakeError } from './faults.ts';
import { openSnowflakeSink } from './sink.ts';
import { snowflakeColumnFaults } from './table.ts';

/**
 * A table in the user's Snowflake account; slices are loaded into a temporary table, and shown with
 * the receipt in one transaction.
 */
export const snowflake: DestinationDefinition<typeof snowflake_config> = {
  type: 'Snowflake',
  label: 'Snowflake',
  config: snowflake_config,
  package: 'snowflake-sdk',
  secrets: ['password', 'private_key', 'private_key_passphrase'],
  where: ['account', 'host', 'user'],
  connection: [
    'account',
    'user',
    'authentication_type',
    'password',
    'private_key',
    'private_key_passphrase',
    'role',
    'host',
  ],
  only_with: [
    { keys: ['password'], key: 'authentication_type', values: ['password'] },
    {
      keys: ['private_key', 'private_key_passphrase'],
      key: 'authentication_type',
      values: ['keypair'],
    },
  ],
  host: (config) => addressOf(config).host,
  column_set: 'tables',
  setAsideFault: ({ table_name = 'events' }) => rejectedNameFault(table_name, 255),
  is_settled_by_abort: true,
  validate: snowflakeViolations,
  columnFaults: snowflakeColumnFaults,
  encoding: () => ({ format: 'TabSeparated', compression: null }),
  open: openSnowflakeSink,
  check: checkSnowflake,
  ...tableReaders(openSnowflake, () => snowflakeError),
};
