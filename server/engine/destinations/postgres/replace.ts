import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { isGeneration, openReplacing } from '../sql_tables/generations.ts';
import type { TransactionalDelivery } from '../sql_tables/in_transactions.ts';
import { columnList } from '../sql_tables/layout.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { requireMoved } from '../sql_tables/staged_sink.ts';
import type { Target } from '../sql_tables/target.ts';
import { writeReceipt } from '../sql_tables/receipts.ts';
import { dropStage, listStaged, moveStage } from './stage.ts';
import type { Stage } from './stage.ts';
import { lockReplacing } from './transaction.ts';

/**
 * Returns the steps that show a delivery: in addition to the rows of the table, or in place of
 * them.
 */
export function showing(
  connection: Connection,
  dialect: Dialect,
  stage: Stage,
): Pick<TransactionalDelivery, 'move' | 'clear' | 'writeReceipt'> {
  const { delivery } = stage;
  const replacing = openReplacing(dialect, delivery);
  const begin = async () => {
    await lockReplacing(connection, stage.target);
    await replacing.find();
    await requireNoCascade(connection, dialect.target);
  };
  return {
    move: async () => {
      if (!isGeneration(delivery)) return moveStage(connection, stage);
      await begin();
      await replaceRows(connection, stage);
    },
    clear: async () => {
      if (!isGeneration(delivery)) return;
      await begin();
      await replacing.clear();
    },
    writeReceipt: async (records, manifest, is_repeat) => {
      await replacing.removeReceipts();
      await writeReceipt(dialect, delivery, { records, text: manifest.text, is_repeat });
    },
  };
}

/**
 * Refuses a table whose deleted rows cascade to other tables: replacing deletes rows that come
 * again, and dependent rows would be lost.
 */
async function requireNoCascade(connection: Connection, { quoted, name }: Target): Promise<void> {
  const [found] = await connection.rows<{ name: string; of: string }>(
    `SELECT conname AS name, conrelid::regclass::text AS of FROM pg_constraint
      WHERE contype = 'f' AND confrelid = to_regclass($1) AND confdeltype NOT IN ('a', 'r')`,
    [quoted],
  );
  if (found === undefined) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `The foreign key ${found.name} of ${found.of} would change rows there when rows of ${name} ` +
      'are replaced. Make it NO ACTION, or export to another table.',
  );
}

/**
 * Replaces the target's rows by everything that is staged, and drops the stage. One statement does
 * both, so that a foreign key to the target is checked when all rows are there. Throws like
 * `listStaged`, and `rows_left_out`.
 */
async function replaceRows(connection: Connection, stage: Stage): Promise<void> {
  const staged = await listStaged(connection, stage);
  const list = columnList(stage.delivery.columns);
  const xids = staged.map(([, { xid }]) => xid).join(',');
  const moved = await connection.run(
    `WITH gone AS (DELETE FROM ${stage.target} RETURNING 1)
      INSERT INTO ${stage.target} (${list}) SELECT ${list} FROM ${stage.quoted}
      WHERE xmin = ANY ('{${xids}}'::xid[]) AND (SELECT count(*) FROM gone) >= 0`,
  );
  requireMoved(
    staged.reduce((sum, [, { records }]) => sum + records, 0),
    moved,
  );
  await dropStage(connection, stage);
}
