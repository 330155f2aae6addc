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
import { checkRedshift } from './check.ts';
import { redshift_config, redshiftViolations } from './config.ts';
import { openRedshift } from './dialect.ts';
import { redshiftError } from './faults.ts';
import { openRedshiftSink } from './sink.ts';
import { redshiftColumnFaults } from './table.ts';

/** A table in the user's Amazon Redshift; rows and receipt in one transaction. */
export const redshift: DestinationDefinition<typeof redshift_config> = {
  type: 'Redshift',
  label: 'Amazon Redshift',
  config: redshift_config,
  secrets: [...database_secrets, 'aws_access_key_id', 'aws_secret_access_key'],
  where: [
    ...database_where,
    'mode',
    'bucket_name',
    'region',
    'iam_role',
    'endpoint_url',
    'aws_role_arn',
    'aws_external_id',
  ],
  connection: [
    ...database_connection,
    'aws_access_key_id',
    'aws_secret_access_key',
    'aws_role_arn',
    'aws_external_id',
    'iam_role',
    'endpoint_url',
  ],
  only_with: [
    {
      keys: [
        'bucket_name',
        'region',
        'prefix',
        'aws_access_key_id',
        'aws_secret_access_key',
        'aws_role_arn',
        'aws_external_id',
        'iam_role',
        'endpoint_url',
      ],
      key: 'mode',
      values: ['COPY'],
    },
    only_with_ssh,
  ],
  less_safe: { has_self_signed_cert: true, require_tls: false },
  host: ({ host, ssh_host }) => ssh_host || host,
  ways: [...ssh_ways, 'mode', 'bucket_name', 'region', 'prefix', 'iam_role', 'endpoint_url'],
  column_set: 'tables',
  setAsideFault: ({ table_name = 'events' }) => rejectedNameFault(table_name, 127),
  validate: redshiftViolations,
  columnFaults: redshiftColumnFaults,
  encoding: () => ({ format: 'TabSeparated', compression: null }),
  open: openRedshiftSink,
  check: checkRedshift,
  ...tableReaders(openRedshift, () => redshiftError),
};
