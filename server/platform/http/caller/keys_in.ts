import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../clock.ts';
import type { Transaction } from '../../postgres/database.ts';

/**
 * What every table of keys does with one: a key may get a successor once, and ends then. The caller
 * holds the lock under which the key changes, so an answer holds until the transaction ends. `also`
 * sets more of a key that gets a successor.
 */
export function keysIn(table: Sql, also: Sql = empty) {
  return {
    /** Was a successor created for the key? */
    isRolled: async (tx: Transaction, id: string): Promise<boolean> => {
      const row = await tx.row(
        sql`SELECT 1 FROM ${table} WHERE id = ${id}::uuid AND rolled_at IS NOT NULL`,
      );
      return row !== undefined;
    },
    /**
     * Notes that a successor is created, and lets the key expire at the end of the overlap, or when
     * it would have, whichever comes first.
     */
    markRolled: async (
      tx: Transaction,
      id: string,
      now_ms: number,
      overlap_seconds: number,
    ): Promise<void> => {
      const end = isoInstant(now_ms + overlap_seconds * 1000);
      // least() passes over a null.
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
