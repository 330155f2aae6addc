import { RetryableError } from '../../model/destination/errors.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';

const lock_wait_milliseconds = 60_000;
/** The server's code for a statement that took longer than `statement_timeout`. */
const cancelled = '57014';

/**
 * Runs a statement that may wait at most a minute for another session's lock on the `locked` (`the
 * table of receipts`). Redshift has no time limit for locks, so this limits the statement.
 */
export async function waiting<Result>(
  connection: Connection,
  locked: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await connection.rows(`SET statement_timeout TO ${lock_wait_milliseconds}`);
  try {
    const result = await work();
    await connection.rows('SET statement_timeout TO 0');
    return result;
  } catch (error) {
    if ((error as { code?: unknown }).code !== cancelled) throw error;
    throw new RetryableError('locked', `Another delivery or session holds a lock on ${locked}.`, {
      cause: error,
    });
  }
}

/**
 * Runs `work` between BEGIN and COMMIT, and rolls back if it fails; the failure is thrown
 * unchanged. `commit` runs the COMMIT if more than its fault must be known.
 */
export async function inTransaction<Result>(
  connection: Connection,
  work: () => Promise<Result>,
  commit = () => connection.end('COMMIT'),
): Promise<Result> {
  await connection.rows('BEGIN');
  try {
    const result = await work();
    await commit();
    return result;
  } catch (error) {
    await connection.rows('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
