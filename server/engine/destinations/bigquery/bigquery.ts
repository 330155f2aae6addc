import type { DestinationDefinition } from '../../model/destination/destination.ts';
import { tableReaders } from '../sql_tables/delivered_table.ts';
import { checkBigQuery } from './check.ts';
import { api_origin, bigquery_config, bigQueryViolations, secret_keys } from './config.ts';
import { openBigQuery } from './dialect.ts';
import { bigQueryErrors } from './faults.ts';
import { openBigQuerySink } from './sink.ts';
import { slice_encoding } from './stage.ts';
import { bigQueryColumnFaults } from './table.ts';

/**
 * A table in Google BigQuery; slices are loaded into separate tables and shown with their receipt
 * by one transaction.
 */
export const bigquery: DestinationDefinition<typeof bigquery_config> = {
  type: 'BigQuery',
  label: 'Google BigQuery',
  config: bigquery_config,
  secrets: secret_keys,
  where: ['project_id', 'token_uri'],
  connection: ['project_id', ...secret_keys, 'token_uri'],
  // All projects share one address; each project has its own quotas and bill.
  host: ({ project_id }) => `${project_id}.${URL.parse(api_origin)!.hostname}`,
  column_set: 'tables',
  is_settled_by_abort: true,
  validate: bigQueryViolations,
  columnFaults: bigQueryColumnFaults,
  encoding: () => slice_encoding,
  open: openBigQuerySink,
  check: checkBigQuery,
  ...tableReaders(openBigQuery, (config, { signal }) => bigQueryErrors(config, signal)),
};
