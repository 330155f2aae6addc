import type { Delivery } from '../../model/destination/destination.ts';
import { recordText } from '../../model/destination/rejected_rows.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { postgresError } from '../sql_tables/postgres_faults.ts';
import { requireRejectedTable } from '../sql_tables/rejected/rejected_table.ts';
import type { HeldRejection, RejectedTable } from '../sql_tables/rejected/set_aside.ts';
import { rejectedName } from '../sql_tables/target.ts';
import { targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { createTable, tableExists } from './table.ts';

/**
 * Creates the table of rejected rows in the open transaction where it is missing, and refuses one
 * that is not ours.
 */
export async function prepareRejected(
  connection: Connection,
  config: PostgresConfig,
): Promise<void> {
  const { rejected, schema, table } = targetOf(config);
  await createTable(
    connection,
    rejected,
    `CREATE TABLE IF NOT EXISTS ${rejected} (delivery_id uuid NOT NULL, number integer NOT NULL,
      batch_export_id uuid NOT NULL, run_id uuid NOT NULL, slice integer NOT NULL,
      code text NOT NULL, reason text NOT NULL, record json NOT NULL,
      rejected_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (delivery_id, number))`,
  );
  const found = await connection.rows<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0
      AND NOT attisdropped`,
    [rejected],
  );
  requireRejectedTable(`${schema}.${rejectedName(table)}`, found);
}

/** The rejected rows of a delivery; none where there is no such table. */
export async function listRejected(
  connection: Connection,
  config: PostgresConfig,
  delivery_id: string,
): Promise<HeldRejection[]> {
  const { rejected } = targetOf(config);
  if (!(await tableExists(connection, rejected))) return [];
  return connection.rows<HeldRejection>(
    `SELECT number, code, reason, record::text AS record FROM ${rejected}
      WHERE delivery_id = $1 ORDER BY number`,
    [delivery_id],
  );
}

/** The rejected rows of a delivery, in the open transaction. */
export function rejectedTable(
  connection: Connection,
  config: PostgresConfig,
  { delivery_id, batch_export_id, run_id, columns }: Delivery,
): RejectedTable {
  const { rejected } = targetOf(config);
  return {
    within: async (work) => {
      await connection.rows('SAVEPOINT sluice_rows');
      try {
        const result = await work();
        // A constraint that is checked at the end would refuse the whole transaction.
        await connection.rows('SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT sluice_rows');
        return result;
      } catch (error) {
        await connection.rows('ROLLBACK TO SAVEPOINT sluice_rows; RELEASE SAVEPOINT sluice_rows');
        throw error;
      }
    },
    add: async (slice, first, rows) => {
      if (rows.length === 0) return;
      await connection.rows(
        `INSERT INTO ${rejected} (delivery_id, number, batch_export_id, run_id, slice, code, reason,
          record) SELECT $1, $2::integer + row.at - 1, $3, $4, $5, row.code, row.reason,
          row.record::json FROM unnest($6::text[], $7::text[], $8::text[]) WITH ORDINALITY
          AS row (code, reason, record, at)`,
        [
          delivery_id,
          first,
          batch_export_id,
          run_id,
          slice,
          rows.map(({ code }) => code),
          rows.map(({ reason }) => reason),
          rows.map(({ values }) => recordText(columns, values)),
        ],
      );
    },
    list: () => listRejected(connection, config, delivery_id),
    remove: async (numbers) => {
      if (numbers.length === 0) return;
      await connection.rows(
        `DELETE FROM ${rejected} WHERE delivery_id = $1 AND number = ANY ($2::integer[])`,
        [delivery_id, numbers],
      );
    },
    explained: postgresError,
  };
}
