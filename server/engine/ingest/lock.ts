import sql from 'sql-template-tag';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';

/** First key of the advisory locks of ingestion; the second is the project's `team_id`. Writers take it alone, planners share it. */
const ingestion_lock_class = 7_301_010;

/** What is remembered of a project's ingestion. Instants are ISO 8601 text in UTC. */
export type IngestionState = {
  /** The control store's clock, cut to milliseconds. */
  now: string;
  last_inserted_at: string | null;
  persons_generation: number;
  /** A batch that was begun and of which nobody said how it ended. */
  batch_id: string | null;
  /** True while the store may still be working on that batch. */
  is_batch_running: boolean;
};

/** Makes this transaction the project's only writer of events until it ends; waits for other writers and for planners. */
export async function lockForWriting(tx: Transaction, teamId: number): Promise<void> {
  await tx.row(sql`SELECT pg_advisory_xact_lock(${ingestion_lock_class}::integer, ${teamId}::integer)`);
}

/**
 * Waits for the batches of the project that are being written, and gives the instant (ISO 8601, UTC, milliseconds) below which its events and persons are final:
 * until this transaction ends no batch begins, and each that begins later gets a later `inserted_at`. It is the present instant, or the start of a batch that
 * a killed process left behind while the store may still be writing it. Call it as the first thing before a watermark is fixed.
 */
export async function settled(tx: Transaction, teamId: number): Promise<string> {
  // Two statements, because a statement sees the data as of its start, which for the waiting one is before the lock.
  await tx.row(sql`SELECT pg_advisory_xact_lock_shared(${ingestion_lock_class}::integer, ${teamId}::integer)`);
  const state = await readState(tx, teamId);
  return state.is_batch_running && state.last_inserted_at !== null ? state.last_inserted_at : state.now;
}

/** The project's state as of now; call it under the lock. */
export async function readState(db: Queryable, teamId: number): Promise<IngestionState> {
  const row = await db.row<IngestionState>(sql`
    SELECT date_trunc('milliseconds', clock_timestamp()) AS now, s.last_inserted_at, coalesce(s.persons_generation, 0)::integer AS persons_generation, s.batch_id,
      s.batch_id IS NOT NULL AND s.batch_ends_at > clock_timestamp() AS is_batch_running
    FROM (SELECT ${teamId}::integer AS team_id) AS wanted LEFT JOIN ingestion_states AS s USING (team_id)`);
  if (row === undefined) throw new Error('The control store gave no state.');
  return row;
}

/** A batch that is about to be written. */
export type BatchNote = { team_id: number; batch_id: string; inserted_at: string; writes_persons: boolean; seconds_max: number };

/**
 * Leaves word that a batch is about to be written; must be committed before the store hears of the batch, and so outside the transaction that holds the lock.
 */
export async function noteBatch(db: Queryable, note: BatchNote): Promise<void> {
  const generations = note.writes_persons ? 1 : 0;
  await db.run(sql`
    INSERT INTO ingestion_states AS s (team_id, last_inserted_at, persons_generation, batch_id, batch_ends_at)
    VALUES (${note.team_id}, ${note.inserted_at}, ${generations}, ${note.batch_id}, clock_timestamp() + make_interval(secs => ${note.seconds_max}))
    ON CONFLICT (team_id) DO UPDATE SET last_inserted_at = excluded.last_inserted_at, persons_generation = s.persons_generation + excluded.persons_generation,
      batch_id = excluded.batch_id, batch_ends_at = excluded.batch_ends_at`);
}

/** Says that the batch's fate is known: nothing of it can appear any more. */
export async function clearBatch(db: Queryable, teamId: number, batchId: string): Promise<void> {
  await db.run(sql`UPDATE ingestion_states SET batch_id = NULL, batch_ends_at = NULL WHERE team_id = ${teamId} AND batch_id = ${batchId}::uuid`);
}
