import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

const schedule_fields = [
  '"interval"',
  'timezone',
  'offset_minutes',
  'paused',
  'start_at',
  'end_at',
  'revision',
];
const delivery_fields = [
  'model',
  'custom_query',
  'destination_type',
  'destination_config',
  'destination_secrets',
  'connection_id',
  'write_rule',
  'columns',
  'new_columns',
  'schema_number',
  'rejected_rows',
  'rejected_rows_max',
  'rejected_percent_max',
];

/** Sets the times of the latest changes, for fields in which export `e` will differ from `n`. */
export const changed_at = sql`
  schedule_changed_at = ${whenDiffer(schedule_fields, sql`e.schedule_changed_at`)},
  delivery_changed_at = ${whenDiffer(delivery_fields, sql`e.delivery_changed_at`)}`;

function whenDiffer(fields: string[], known: Sql): Sql {
  const [before, after] = ['e', 'n'].map((row) => raw(fields.map((one) => `${row}.${one}`).join()));
  return sql`CASE WHEN (${before}) IS DISTINCT FROM (${after}) THEN now() ELSE ${known} END`;
}
