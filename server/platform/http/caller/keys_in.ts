import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../clock.ts';
import type { Transaction } from '../../postgres/database.ts';

/**
 * Returns the statements that all tables of keys share: a key gets one successor, and ends then.
 * The caller holds the lock on the key, so an answer stays valid until the transaction ends. `also`
 * sets more columns of a key that gets a successor.
 */
export function keysIn(table: Sql, also: Sql = empty) {
  return {
    /** Returns true if the key has a successor. */
    isRolled: async (tx: Transaction, id: string): Promise<boolean> => {
      const row = await tx.row(
        sql`SELECT 1 FROM ${table} WHERE id = ${id}::uuid AND rolled_at IS NOT NULL`,
      );
      return row !== undefined;
    },
    /**
     * Records the creation of a successor, and ends the key after the overlap, or at its own end if
     * that is earlier.
     */
    markRolled: async (
      tx: Transaction,
      id: string,
      now_ms: number,
      overlap_seconds: number,
    ): Promise<void> => {
      const end = isoInstant(now_ms + overlap_seconds * 1000);
      // least() ignores a null.
      await tx.run(sql`
        UPDATE ${table} SET rolled_at = ${isoInstant(now_ms)}::timestamptz,
          expires_at = least(expires_at, ${end}::timestamptz) ${also}
        WHERE id = ${id}::uuid`);
    },
    /** Deletes the key: the next request with it is refused. */
    remove: async (tx: Transaction, id: string): Promise<void> => {
      await tx.run(sql`DELETE FROM ${table} WHERE id = ${id}::uuid`);
    },
  };
}
