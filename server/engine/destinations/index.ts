import type { DestinationDefinition } from '../model/destination/destination.ts';
import { azureblob, azureblob_place } from './azureblob/azureblob.ts';
import { bigquery } from './bigquery/bigquery.ts';
import { clickhouse } from './clickhouse/clickhouse.ts';
import { defineDelta } from './delta/delta.ts';
import { file, file_place } from './file/file.ts';
import { gcs, gcs_place } from './gcs/gcs.ts';
import { http } from './http/http.ts';
import { defineIceberg } from './iceberg/iceberg.ts';
import type { LakePlace } from './lake/place.ts';
import { mysql } from './mysql/mysql.ts';
import { noop } from './noop/noop.ts';
import { postgres } from './postgres/postgres.ts';
import { redshift } from './redshift/redshift.ts';
import { s3, s3_place } from './s3/s3.ts';
import { snowflake } from './snowflake/snowflake.ts';

/** Every place for the files of tables. */
export const table_places: readonly LakePlace[] = [
  file_place,
  s3_place,
  gcs_place,
  azureblob_place,
];

/**
 * Every destination that an export can have, one per line. Tests compare the list with everything
 * else that names each destination: AGENTS.md, "A destination".
 */
export const destinations: readonly DestinationDefinition[] = [
  s3,
  azureblob,
  gcs,
  defineIceberg(table_places),
  defineDelta(table_places),
  postgres,
  redshift,
  snowflake,
  bigquery,
  clickhouse,
  mysql,
  http,
  file,
  noop,
];

/** Returns the destination of a type's name as in `destination.type`, or undefined. */
export function findDestination(type: string): DestinationDefinition | undefined {
  return destinations.find((destination) => destination.type === type);
}
