import type { Delivery } from '../../model/destination/destination.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';

const lock_timeout_seconds = 60;

/**
 * Begins a transaction that waits a minute for locks, has no time limit and shows floats with all
 * their digits. It disables JIT compilation, which would take longer than a merge. READ COMMITTED
 * regardless of the server's default: after the wait for a lock, the other session's commit must be
 * visible.
 */
export async function beginTransaction(connection: Connection): Promise<void> {
  await connection.rows(
    'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL extra_float_digits = 3; ' +
      `SET LOCAL lock_timeout = '${lock_timeout_seconds}s'; ` +
      // Not every version has all of them.
      "SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN ('statement_timeout', " +
      "'transaction_timeout', 'idle_in_transaction_session_timeout', 'jit')",
  );
}

/**
 * Waits until no other transaction holds this delivery, and holds it until the open transaction
 * ends.
 */
export async function lockDelivery(connection: Connection, delivery: Delivery): Promise<void> {
  await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `sluice ${delivery.delivery_id}`,
  ]);
}

/**
 * Waits until no other transaction replaces the rows of this table, and holds the lock until the
 * open one ends.
 */
export async function lockReplacing(connection: Connection, table: string): Promise<void> {
  await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `sluice replace ${table}`,
  ]);
}

/**
 * Waits until no other transaction moves slices of this delivery. Only the holder of the stage
 * requests it, while it holds the delivery.
 */
export async function lockMove(connection: Connection, delivery: Delivery): Promise<void> {
  await connection.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    moveKey(delivery),
  ]);
}

/**
 * Ends the session in which an earlier attempt moves slices of this delivery; the holder of the
 * delivery calls it. A worker that was believed dead would keep its moved rows locked, and a unique
 * index of the table would make us wait for it. Sessions of other users cannot be ended, only
 * waited for.
 */
export async function endMove(connection: Connection, delivery: Delivery): Promise<void> {
  // pg_locks shows the key of an advisory lock as two halves.
  await connection.rows(
    `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND database = (SELECT oid
       FROM pg_database WHERE datname = current_database())
       AND (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)
         AND usename = current_user`,
    [moveKey(delivery)],
  );
}

function moveKey({ delivery_id }: Delivery): string {
  return `sluice move ${delivery_id}`;
}
