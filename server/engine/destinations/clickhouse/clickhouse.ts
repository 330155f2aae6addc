import { urlHost } from '../../../platform/outbound/url_host.ts';
import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { tableReaders } from '../sql_tables/delivered_table.ts';
import { checkClickHouse } from './check.ts';
import { clickhouse_config, clickHouseViolations, compressionTo } from './config.ts';
import { reachClickHouse } from './dialect.ts';
import { clickHouseError } from './faults.ts';
import { openClickHouseSink } from './sink.ts';
import { clickHouseColumnFaults } from './table.ts';

/**
 * A table in the user's ClickHouse; a delivery is staged in its own table and shown by linking its
 * parts.
 */
export const clickhouse: DestinationDefinition<typeof clickhouse_config> = {
  type: 'ClickHouse',
  label: 'ClickHouse',
  config: clickhouse_config,
  secrets: ['password'],
  where: ['url', 'user', 'has_self_signed_cert'],
  connection: ['url', 'user', 'password', 'database', 'has_self_signed_cert'],
  less_safe: { has_self_signed_cert: true },
  host: ({ url }) => urlHost(url),
  column_set: 'tables',
  erases: 'by_key',
  validate: clickHouseViolations,
  columnFaults: clickHouseColumnFaults,
  // A server reads JSON in it in two thirds of the time for CSV, which doubles each of its quotes.
  encoding: (config) => ({
    format: 'TabSeparated',
    compression: compressionTo(config),
    is_exact: true,
    has_names: true,
    is_unpacked: true,
  }),
  open: openClickHouseSink,
  check: checkClickHouse,
  ...tableReaders(reachClickHouse, () => clickHouseError),
};
