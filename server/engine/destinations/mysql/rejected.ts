import type { Delivery } from '../../model/destination/destination.ts';
import { recordText } from '../../model/destination/rejected_rows.ts';
import { requireRejectedTable } from '../sql_tables/rejected/rejected_table.ts';
import type { HeldRejection, RejectedTable } from '../sql_tables/rejected/set_aside.ts';
import { rejectedName } from '../sql_tables/target.ts';
import type { Connection } from './connection.ts';
import { mySqlError } from './faults.ts';
import { requireInnoDb, tableExists } from './table.ts';

/** So many characters of rows go into one statement at most, but one row in any case. */
const statement_characters = 500_000;

/**
 * Creates the table of rejected rows where it is missing, and refuses one that is not ours. To be
 * called outside a transaction, which the creation of a table would end.
 */
export async function prepareRejected(connection: Connection): Promise<void> {
  const { rejected, table } = connection.target;
  const name = rejectedName(table);
  if (!(await tableExists(connection, name)))
    await connection.run(
      `CREATE TABLE IF NOT EXISTS ${rejected} (delivery_id char(36) NOT NULL,
        number integer NOT NULL, batch_export_id char(36) NOT NULL, run_id char(36) NOT NULL,
        slice integer NOT NULL, code varchar(100) NOT NULL, reason text NOT NULL,
        record longtext NOT NULL, rejected_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
        PRIMARY KEY (delivery_id, number)) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE
        utf8mb4_bin`,
    );
  await requireInnoDb(connection, name);
  const found = await connection.rows<{ name: string }>(
    'SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND ' +
      'TABLE_NAME = ?',
    [connection.config.database, name],
  );
  requireRejectedTable(`${connection.config.database}.${name}`, found);
}

/** The rejected rows of a delivery; none where there is no such table. */
export async function listRejected(
  connection: Connection,
  delivery_id: string,
): Promise<HeldRejection[]> {
  const { rejected, table } = connection.target;
  if (!(await tableExists(connection, rejectedName(table)))) return [];
  return connection.rows<HeldRejection>(
    `SELECT number, code, reason, record FROM ${rejected} WHERE delivery_id = ? ORDER BY number`,
    [delivery_id],
  );
}

/** The rejected rows of a delivery, in the open transaction. */
export function rejectedTable(
  connection: Connection,
  { delivery_id, batch_export_id, run_id, columns }: Delivery,
): RejectedTable {
  const { rejected } = connection.target;
  return {
    within: async (work) => {
      await connection.run('SAVEPOINT sluice_rows');
      try {
        const result = await work();
        await connection.run('RELEASE SAVEPOINT sluice_rows');
        return result;
      } catch (error) {
        // A deadlock has ended the transaction, and the savepoint with it.
        await connection.run('ROLLBACK TO SAVEPOINT sluice_rows').catch(() => {
          throw error;
        });
        throw error;
      }
    },
    add: async (slice, first, rows) => {
      let held: unknown[][] = [];
      let characters = 0;
      for (const [index, { code, reason, values }] of rows.entries()) {
        const record = recordText(columns, values);
        const of = [delivery_id, first + index, batch_export_id, run_id, slice];
        held.push([...of, code, reason, record]);
        characters += record.length;
        if (characters < statement_characters && index + 1 < rows.length) continue;
        await connection.run(
          `INSERT INTO ${rejected} (delivery_id, number, batch_export_id, run_id, slice, code,
            reason, record) VALUES ?`,
          [held],
        );
        [held, characters] = [[], 0];
      }
    },
    list: () => listRejected(connection, delivery_id),
    remove: async (numbers) => {
      if (numbers.length === 0) return;
      await connection.run(`DELETE FROM ${rejected} WHERE delivery_id = ? AND number IN (?)`, [
        delivery_id,
        numbers,
      ]);
    },
    explained: mySqlError,
  };
}
