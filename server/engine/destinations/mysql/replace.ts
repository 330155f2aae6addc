import { createHash } from 'node:crypto';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { isGeneration, openReplacing } from '../sql_tables/generations.ts';
import type { TransactionalDelivery } from '../sql_tables/in_transactions.ts';
import { writeReceipt } from '../sql_tables/receipts.ts';
import type { Connection } from './connection.ts';
import { moveStage } from './stage.ts';
import type { Stage } from './stage.ts';

const lock_seconds_max = 60;

/** A named lock may have 64 characters, and a table's name more. */
function lockName({ target }: Connection): string {
  return `sluice replace ${createHash('md5').update(target.name).digest('hex')}`;
}

/**
 * Waits at most a minute until no other session replaces the rows of the table, and keeps the lock
 * until `unlockReplacing` or the session's end.
 */
export async function lockReplacing(connection: Connection): Promise<void> {
  const [lock] = await connection.rows<{ is_ours: number | null }>(
    'SELECT GET_LOCK(?, ?) AS is_ours',
    [lockName(connection), lock_seconds_max],
  );
  if (lock?.is_ours === 1) return;
  throw new RetryableError('locked', 'Another run replaces this table for more than a minute.');
}

/** Lets others replace the table. A lock that cannot be released ends with the session. */
export async function unlockReplacing(connection: Connection): Promise<void> {
  await connection.run('DO RELEASE_LOCK(?)', [lockName(connection)]).catch(() => undefined);
}

/**
 * Refuses a table that foreign keys refer to: InnoDB checks them for each deleted row, even if the
 * row comes again in the same transaction.
 */
async function requireUnreferenced(connection: Connection): Promise<void> {
  const { config, target } = connection;
  const [found] = await connection.rows<{ name: string; of: string }>(
    `SELECT CONSTRAINT_NAME AS name, TABLE_NAME AS \`of\`
      FROM information_schema.REFERENTIAL_CONSTRAINTS
      WHERE UNIQUE_CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?`,
    [config.database, target.table],
  );
  if (found === undefined) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `The foreign key ${found.name} of ${found.of} points to ${target.name}, so its rows cannot ` +
      'be replaced. Drop the key, or export to another table.',
  );
}

/**
 * Returns the steps that show a delivery: in addition to the rows of the table, or in place of
 * them. `lock` waits for other sessions outside the transaction, and then opens it again.
 */
export function showing(
  dialect: Dialect,
  stage: Stage,
  lock: () => Promise<void>,
): Pick<TransactionalDelivery, 'move' | 'clear' | 'writeReceipt'> {
  const { connection, delivery } = stage;
  const replacing = openReplacing(dialect, delivery);
  const clear = async () => {
    if (!isGeneration(delivery)) return;
    await lock();
    await replacing.find();
    await requireUnreferenced(connection);
    await replacing.clear();
  };
  return {
    clear,
    move: async (outcomes) => {
      await clear();
      await moveStage(stage, outcomes);
    },
    writeReceipt: async (records, manifest, is_repeat) => {
      await replacing.removeReceipts();
      await writeReceipt(dialect, delivery, { records, text: manifest.text, is_repeat });
    },
  };
}
