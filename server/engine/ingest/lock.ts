import sql from 'sql-template-tag';
import type { Database, Queryable, Transaction } from '../../platform/postgres/database.ts';

/**
 * First key of the advisory locks of ingestion; the second is the project's `team_id`. Writers take
 * it exclusively, planners share it.
 */
const ingestion_lock_class = 7_301_010;

/** The state of a project's ingestion. Instants are ISO 8601 text in UTC. */
export type IngestionState = {
  /** The control store's clock, in whole milliseconds. */
  now: string;
  /** Instant of the latest batch; null before the first one. */
  last_inserted_at: string | null;
  /** No later batch may get an earlier `inserted_at`. */
  settled_until: string | null;
  /**
   * Generation of persons, valid together with the epoch: another primary may repeat the number.
   */
  persons_generation: number;
  /** The timeline of the primary that returned this. */
  epoch: number;
  /** A batch that has begun and whose end nobody reported. */
  batch_id: string | null;
  /**
   * True if the batch was recorded under another primary, where its writer may hold the lock: until
   * its time is over, it may still be sent.
   */
  is_batch_elsewhere: boolean;
  /** False if the project is deleted; its state is gone with it. */
  has_project: boolean;
  /** True if persons of the project were erased, so that events must be checked for them. */
  has_erased_ids: boolean;
};

/**
 * Makes this transaction the project's only writer of events until it ends; waits for other writers
 * and for planners.
 */
export async function lockForWriting(tx: Transaction, teamId: number): Promise<void> {
  await tx.row(
    sql`SELECT pg_advisory_xact_lock(${ingestion_lock_class}::integer, ${teamId}::integer)`,
  );
}

/**
 * Waits for the project's batches in progress, and returns the instant (ISO 8601, UTC,
 * milliseconds) below which its events and persons are final. No batch begins until this
 * transaction ends, and later batches get no earlier `inserted_at`, whatever the control store's
 * clock does. It is the present instant, or the start of a batch with an unknown end. Call it
 * before anything else that fixes a watermark.
 */
export async function settled(tx: Transaction, teamId: number): Promise<string> {
  // Two statements, because a statement sees the data as of its start, and the waiting one starts
  // before it has the lock.
  await tx.row(
    sql`SELECT pg_advisory_xact_lock_shared(${ingestion_lock_class}::integer, ${teamId}::integer)`,
  );
  // One update of one row makes the promise and checks its basis. A writer that lost its lock
  // records its batch either before it, and is seen here, or after it, and `noteBatch` refuses it.
  // FOR KEY SHARE waits for a deletion of the project and then finds no row, instead of an error.
  const row = await tx.row<{ settled_until: string }>(sql`
    INSERT INTO ingestion_states AS s (team_id, settled_until)
    SELECT id, date_trunc('milliseconds', clock_timestamp()) FROM projects WHERE id = ${teamId}
      FOR KEY SHARE
    ${promise}`);
  return row?.settled_until ?? (await readState(tx, teamId)).now;
}

const promise = sql`
  ON CONFLICT (team_id) DO UPDATE SET
    settled_until = greatest(s.settled_until, CASE
      WHEN s.batch_id IS NULL THEN excluded.settled_until ELSE s.last_inserted_at END)
  RETURNING s.team_id, s.settled_until`;

/**
 * Returns `settled` for many projects without waiting for their batches: omits projects with a
 * batch in progress or a deletion in progress.
 */
export async function settledAtOnce(
  tx: Transaction,
  teamIds: number[],
): Promise<Map<number, string>> {
  const free = await tx.rows<{ team_id: number }>(sql`
    SELECT team_id FROM unnest(${teamIds}::int[]) AS project (team_id)
    WHERE pg_try_advisory_xact_lock_shared(${ingestion_lock_class}::integer, team_id)`);
  // A fixed lock order avoids deadlocks.
  const rows = await tx.rows<{ team_id: number; settled_until: string }>(sql`
    INSERT INTO ingestion_states AS s (team_id, settled_until)
    SELECT id, date_trunc('milliseconds', clock_timestamp()) FROM projects
      WHERE id = ANY (${free.map(({ team_id }) => team_id)}::int[])
      ORDER BY id FOR KEY SHARE SKIP LOCKED
    ${promise}`);
  return new Map(rows.map((row) => [row.team_id, row.settled_until]));
}

/**
 * Tolerated clock difference between successive primaries: a writer's time ends by one clock, and
 * others wait by the other.
 */
const skew_seconds_max = 5;

/**
 * For a row `s` of ingestion_states: its batch belongs to another primary, and its time is not
 * over. The lock alone does not show here whether its writer has ended.
 */
export const is_batch_elsewhere = sql`coalesce(s.batch_id IS NOT NULL
  AND s.batch_epoch <> control_epoch()
  AND s.batch_ends_at > clock_timestamp() - make_interval(secs => ${skew_seconds_max}), false)`;

/** Returns the project's current state; the caller holds the lock. */
export async function readState(db: Queryable, teamId: number): Promise<IngestionState> {
  const row = await db.row<IngestionState>(sql`
    SELECT date_trunc('milliseconds', clock_timestamp()) AS now, s.last_inserted_at,
      s.settled_until, control_epoch() AS epoch,
      (control_epoch()::bigint << 32) + coalesce(s.persons_generation, 0) AS persons_generation,
      s.batch_id, ${is_batch_elsewhere} AS is_batch_elsewhere,
      EXISTS (SELECT 1 FROM projects WHERE id = ${teamId}) AS has_project,
      EXISTS (SELECT 1 FROM erased_ids WHERE team_id = ${teamId}) AS has_erased_ids
    FROM (SELECT ${teamId}::integer AS team_id) AS wanted LEFT
      JOIN ingestion_states AS s USING (team_id)`);
  if (row === undefined) throw new Error('The control store gave no state.');
  return row;
}

/**
 * A batch to write after the one of `last_inserted_at`; `epoch` is that of the state, read under
 * the same lock.
 */
export type BatchNote = {
  team_id: number;
  epoch: number;
  batch_id: string;
  inserted_at: string;
  last_inserted_at: string | null;
  writes_persons: boolean;
  seconds_max: number;
};

/**
 * Records that a batch is about to be written. The record is committed on return, before the store
 * gets the batch, and so outside the transaction that holds the lock. `refused`, with nothing
 * recorded: another batch came in between, the instant was promised to be final, or the primary
 * changed, which means that the lock was lost. `project_gone`: the project is deleted. Waits at
 * most five seconds for locks, then throws: the lock's holder may itself wait for the writer, a
 * deadlock that the control store cannot detect.
 */
export async function noteBatch(
  db: Database,
  note: BatchNote,
): Promise<'noted' | 'refused' | 'project_gone'> {
  const generations = note.writes_persons ? 1 : 0;
  return db.transaction(async (tx) => {
    const bounded = tx.run(sql`SET LOCAL lock_timeout = '5s'`);
    // FOR KEY SHARE waits for a deletion of the project and then finds no row, instead of a broken
    // foreign key. Compares and sets in one statement, on the row's latest version.
    const noted = tx.row<{ is_noted: boolean; has_project: boolean }>(sql`
      WITH project AS (SELECT id FROM projects WHERE id = ${note.team_id} FOR KEY SHARE),
      noted AS (
        INSERT INTO ingestion_states AS s (team_id, last_inserted_at, persons_generation, batch_id,
          batch_ends_at, batch_epoch)
        SELECT id, ${note.inserted_at}::timestamptz, ${generations}::integer,
          ${note.batch_id}::uuid, clock_timestamp() + make_interval(secs => ${note.seconds_max}),
          ${note.epoch}::integer
        FROM project WHERE control_epoch() = ${note.epoch}
        ON CONFLICT (team_id) DO UPDATE SET last_inserted_at = excluded.last_inserted_at,
          persons_generation = s.persons_generation + excluded.persons_generation,
          batch_id = excluded.batch_id, batch_ends_at = excluded.batch_ends_at,
          batch_epoch = excluded.batch_epoch
        WHERE s.last_inserted_at IS NOT DISTINCT FROM ${note.last_inserted_at}::timestamptz
          AND (s.settled_until IS NULL OR s.settled_until <= excluded.last_inserted_at)
        RETURNING team_id)
      SELECT EXISTS (SELECT 1 FROM noted) AS is_noted,
        EXISTS (SELECT 1 FROM project) AS has_project`);
    const [, found] = await Promise.all([bounded, noted]);
    return fateOf(found);
  });
}

/**
 * Checks that the batch is still the recorded one: `refused` if the lock was lost, `project_gone`
 * if the project and the record were deleted. Throws if the transaction's session is gone.
 */
export async function findNote(
  tx: Transaction,
  teamId: number,
  batchId: string,
): Promise<'noted' | 'refused' | 'project_gone'> {
  const found = await tx.row<{ is_noted: boolean; has_project: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM ingestion_states
        WHERE team_id = ${teamId} AND batch_id = ${batchId}::uuid) AS is_noted,
      EXISTS (SELECT 1 FROM projects WHERE id = ${teamId}) AS has_project`);
  return fateOf(found);
}

function fateOf(found: { is_noted: boolean; has_project: boolean } | undefined) {
  if (found?.is_noted === true) return 'noted';
  return found?.has_project === false ? 'project_gone' : 'refused';
}

/**
 * Records that the batch has ended: no more rows of it can appear. The transaction's COMMIT does
 * not wait for the disk, so it may write nothing else: if a crash of the control store loses the
 * record, the next batch finds out that this one has ended.
 */
export async function clearBatch(db: Queryable, teamId: number, batchId: string): Promise<void> {
  await db.run(
    sql`UPDATE ingestion_states SET batch_id = NULL, batch_ends_at = NULL WHERE team_id = ${teamId}
      AND batch_id = ${batchId}::uuid AND set_config('synchronous_commit', 'off', true) = 'off'`,
  );
}
