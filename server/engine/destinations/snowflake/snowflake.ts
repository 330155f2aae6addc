import type { DestinationDefinition } from '../../destination/destination.ts';
import { checkSnowflake } from './check.ts';
import { addressOf, snowflake_config, snowflakeViolations } from './config.ts';
import { heldSnowflakeReceipts } from './held_receipts.ts';
import { openSnowflakeSink } from './sink.ts';
import { snowflakeColumnFaults } from './table.ts';
import { verifySnowflake } from './verify.ts';

/**
 * A table in the user's Snowflake account; slices are loaded into a temporary table, and shown with
 * the receipt in one transaction.
 */
export const snowflake: DestinationDefinition<typeof snowflake_config> = {
  type: 'Snowflake',
  label: 'Snowflake',
  config: snowflake_config,
  secrets: ['password', 'private_key', 'private_key_passphrase'],
  where: ['account', 'host', 'user'],
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
  validate: snowflakeViolations,
  columnFaults: snowflakeColumnFaults,
  encoding: () => ({ format: 'TabSeparated', compression: null }),
  sliceBytes: () => undefined,
  open: (config, delivery, deps) => openSnowflakeSink(config, delivery, deps),
  check: checkSnowflake,
  verify: (config, delivered, source, deps) => verifySnowflake(config, delivered, source, deps),
  receipts: heldSnowflakeReceipts,
};
