import { v7 as uuidv7 } from 'uuid';
import sql from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Database, Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { findDestination } from '../../destinations/index.ts';
import type { Engine } from '../engine.ts';
import { delivery_ms, first_credit_ms, look_share, person_credit_ms } from './budget.ts';
import { wantedOf } from './turns.ts';
import type { Watched } from './turns.ts';
import { fail, insertVerification } from './verification.ts';
import type { PausedCycle, Verification } from './verification.ts';
import { reasonOf } from './verify_exports.ts';

/** The pause before the schedule checks an export again. */
const pause_seconds = 60;
/** The most milliseconds that an unused budget accumulates. */
const balance_ms_max = 600_000;
/** A look at new deliveries includes a finding at most this many deliveries back. */
const held_deliveries_max = 200;
const failed_pause_seconds_max = 3_600;
const exports_per_turn = 100;

/** An export that the schedule checks. */
type Due = Watched & {
  id: string;
  revision: number;
  destination_type: string;
  verified_through: string | null;
  is_waiting: boolean;
  paused_cycle: PausedCycle | null;
};

/**
 * Starts looks at the exports that are due, and returns their number. New deliveries are due as
 * soon as the export's budget allows it, and all deliveries a day after the last such look. An
 * export that fails delays no other one; the first failure is thrown at the end.
 */
export async function planLooks(engine: Engine): Promise<number> {
  await followExports(engine.db);
  const now = engine.clock.now();
  const failures: unknown[] = [];
  let begun = 0;
  for (const due of await takeDue(engine))
    try {
      if (await beginLook(engine, due, now)) begun += 1;
    } catch (error) {
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return begun;
}

/** Starts the look that the export wants now. */
async function beginLook({ db }: Engine, due: Due, now: number): Promise<boolean> {
  const why = findDestination(due.destination_type)?.not_verifiable ?? null;
  const is_readable = why === null;
  await db.run(sql`UPDATE batch_export_watches SET is_verifiable = ${is_readable},
    reason = CASE WHEN ${is_readable} THEN CASE WHEN is_verifiable THEN reason END
      ELSE ${why} END, verified_through = CASE WHEN ${is_readable} THEN verified_through END
    WHERE batch_export_id = ${due.id} AND (is_verifiable <> ${is_readable}
      OR (NOT ${is_readable} AND reason IS DISTINCT FROM ${why}))`);
  const wanted = is_readable && !due.is_waiting ? wantedOf(due, now) : undefined;
  if (wanted === undefined) return false;
  return db.transaction(async (tx) =>
    insertVerification(tx, {
      id: uuidv7(),
      batch_export_id: due.id,
      revision: due.revision,
      start_at: wanted === 'all' ? null : await startOfNew(tx, due),
      end_at: null,
      is_scheduled: true,
      paused: wanted === 'all' ? due.paused_cycle : null,
    }),
  );
}

/**
 * Returns the start of a look at new deliveries: `verified_through`, unless an open finding holds
 * that back over many deliveries, which looks at all deliveries cover.
 */
async function startOfNew(
  db: Queryable,
  { id, revision, verified_through, new_from }: Due,
): Promise<string | null> {
  if (verified_through === null) return new_from;
  const row = await db.row<{ is_held: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM batch_export_deviations WHERE batch_export_id = ${id}
        AND revision = ${revision} AND resolved_at IS NULL AND accepted_at IS NULL)
      AND (SELECT count(*) FROM (SELECT 1 FROM batch_export_runs WHERE batch_export_id = ${id}
        AND revision = ${revision} AND status = 'Completed'
        AND data_interval_end > ${verified_through}::timestamptz
        LIMIT ${held_deliveries_max + 1}) newer) > ${held_deliveries_max} AS is_held`);
  return row!.is_held ? new_from : verified_through;
}

/** Adds every export to the watched ones, and restarts after a new revision. */
async function followExports(db: Database): Promise<void> {
  await db.run(sql`
    INSERT INTO batch_export_watches (batch_export_id, revision, balance_ms)
    SELECT e.id, e.revision, ${first_credit_ms} FROM batch_exports e WHERE e.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM batch_export_watches w WHERE w.batch_export_id = e.id)
    ON CONFLICT DO NOTHING`);
  await db.run(sql`
    WITH changed AS (
      UPDATE batch_export_watches w SET revision = e.revision, verified_through = NULL,
        verified_at = NULL, cycles = 0, cycle_started_at = NULL, cycle_ended_at = NULL,
        reason = NULL, is_verifiable = true, failures = 0, due_at = now(), counted_at = now(),
        paused_cycle = NULL, cycle_looked_at = NULL, asks = NULL,
        balance_ms = ${first_credit_ms}
      FROM batch_exports e WHERE e.id = w.batch_export_id AND e.revision <> w.revision
      RETURNING w.batch_export_id
    )
    DELETE FROM batch_export_seals USING changed
    WHERE batch_export_seals.batch_export_id = changed.batch_export_id`);
}

/** When the newest deliveries were checked: the first part of a look at all includes them. */
const seen_at = sql`greatest(w.verified_at, w.cycle_started_at)`;

/** Selects due exports, and adds the share of their deliveries to their budget. */
function takeDue({ db }: Engine): Promise<Due[]> {
  return db.rows<Due>(sql`
    WITH due AS (
      SELECT w.batch_export_id, e.revision, e.destination_type, w.counted_at
      FROM batch_export_watches w JOIN batch_exports e ON e.id = w.batch_export_id
        AND e.deleted_at IS NULL
      WHERE w.due_at <= now() ORDER BY w.due_at LIMIT ${exports_per_turn}
      FOR UPDATE OF w SKIP LOCKED
    ), counted AS (
      SELECT due.*, of_runs.runs, of_runs.records FROM due
      CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE r.records_completed > 0) AS runs,
        coalesce(sum(r.records_completed), 0) AS records
        FROM batch_export_runs r WHERE r.batch_export_id = due.batch_export_id
          AND r.revision = due.revision AND r.status = 'Completed' AND r.receipt IS NOT NULL
          AND (due.counted_at IS NULL OR (r.finished_at > due.counted_at
            AND r.created_at > due.counted_at - interval '2 days'))) of_runs
    )
    UPDATE batch_export_watches w SET due_at = now() + make_interval(secs => ${pause_seconds}),
      counted_at = now(), balance_ms = least(${balance_ms_max}, w.balance_ms + ${look_share}
        * (counted.runs * ${delivery_ms.run} + counted.records * ${delivery_ms.row}))
    FROM counted WHERE w.batch_export_id = counted.batch_export_id
    RETURNING w.batch_export_id AS id, counted.revision, counted.destination_type,
      w.verified_through, w.cycle_ended_at, w.verified_at, w.balance_ms, w.paused_cycle,
      w.cycle_looked_at, w.asks,
      (SELECT min(r.data_interval_start) FROM batch_export_runs r
        WHERE r.batch_export_id = w.batch_export_id
          AND r.revision = w.revision AND r.status = 'Completed' AND r.receipt IS NOT NULL
          AND (${seen_at} IS NULL OR (r.finished_at > ${seen_at}
            AND r.created_at > ${seen_at} - interval '2 days'))) AS new_from,
      EXISTS (SELECT 1 FROM reconciliations waiting
        WHERE waiting.batch_export_id = w.batch_export_id) AS is_waiting`);
}

/** Sets the metrics of verification: its progress and its findings. */
export async function noteVerified({ db, metrics }: Engine): Promise<void> {
  const rows = await db.rows<{ destination_type: string; at: number; deviations: number }>(sql`
    SELECT e.destination_type, min(extract(epoch FROM w.verified_through))::float8 AS at,
      coalesce(sum((SELECT count(*) FROM batch_export_deviations d
        WHERE d.batch_export_id = e.id AND d.revision = e.revision AND d.resolved_at IS NULL
          AND d.accepted_at IS NULL)), 0)::bigint AS deviations
    FROM batch_export_watches w JOIN batch_exports e ON e.id = w.batch_export_id
      AND e.revision = w.revision AND e.deleted_at IS NULL
    WHERE w.is_verifiable AND w.verified_at IS NOT NULL GROUP BY 1`);
  metrics.export_verified_through_seconds.reset();
  for (const { destination_type, at } of rows)
    metrics.export_verified_through_seconds.set({ destination: destination_type }, at ?? 0);
  metrics.export_deviations.set(rows.reduce((sum, { deviations }) => sum + deviations, 0));
}

/**
 * Records a part: a finding withdraws verified time at once, and a look pays its cost. Returns the
 * rest of the budget.
 */
export async function noteLook(
  tx: Transaction,
  one: Verification,
  doubtful: number | null,
  { factor, cost_ms, asks }: { factor: number; cost_ms: number; asks: Due['asks'] },
): Promise<number> {
  const bound = doubtful === null ? null : boundOf(doubtful);
  await tx.run(sql`
    INSERT INTO batch_export_watches (batch_export_id, revision)
    VALUES (${one.batch_export_id}, ${one.revision}) ON CONFLICT DO NOTHING`);
  const { is_scheduled } = one;
  const row = await tx.row<{ balance_ms: number }>(sql`
    UPDATE batch_export_watches SET
      balance_ms = balance_ms - ${is_scheduled ? cost_ms : 0}::float8,
      look_factor = CASE WHEN ${is_scheduled} THEN ${factor}::float8 ELSE look_factor END,
      cycle_started_at = CASE WHEN ${isRound(one)} THEN ${one.started_at}::timestamptz
        ELSE cycle_started_at END,
      cycle_looked_at = CASE WHEN ${isRound(one)} THEN now() ELSE cycle_looked_at END,
      asks = coalesce(${is_scheduled ? asks : null}, asks),
      verified_through = CASE WHEN ${bound}::timestamptz IS NULL
        OR verified_through <= ${bound}::timestamptz THEN verified_through
        WHEN ${doubtful === null || doubtful > 0} THEN ${bound}::timestamptz END
    WHERE batch_export_id = ${one.batch_export_id} AND revision = ${one.revision}
    RETURNING balance_ms`);
  return row?.balance_ms ?? 0;
}

/**
 * Pauses a look at all deliveries until it has budget; the schedule continues it. Looks at new
 * deliveries run in between.
 */
export async function pauseCycle(tx: Transaction, one: Verification): Promise<void> {
  await tx.run(sql`
    UPDATE batch_export_watches w SET paused_cycle = to_jsonb(v)
    FROM (SELECT id, started_at, deliveries, records, deliveries_checked, records_checked, position,
        differences, notes, is_unproven FROM batch_export_verifications) v
    WHERE v.id = ${one.id} AND w.batch_export_id = ${one.batch_export_id}
      AND w.revision = ${one.revision}`);
  await tx.run(sql`DELETE FROM batch_export_verifications WHERE id = ${one.id}`);
}

/** Instants before the first possible row stand for the whole past. */
const boundOf = (milliseconds: number) => isoInstant(Math.max(0, milliseconds));

/** Looks at all deliveries have no range. */
export const isRound = ({ start_at, end_at }: Pick<Verification, 'start_at' | 'end_at'>) =>
  start_at === null && end_at === null;

/** Stores the result of a verification that has checked everything requested. */
export async function endLook(
  tx: Transaction,
  one: Verification,
  found: { verified_through: string | null; reason: string | null; is_unproven: boolean },
): Promise<void> {
  const { is_unproven } = found;
  await tx.run(sql`
    UPDATE batch_export_watches SET failures = 0, reason = ${found.reason},
      verified_through = CASE WHEN ${is_unproven} THEN verified_through
        ELSE ${found.verified_through}::timestamptz END,
      verified_at = now(),
      cycles = cycles + ${isRound(one) ? 1 : 0},
      cycle_ended_at = CASE WHEN ${isRound(one)} THEN now() ELSE cycle_ended_at END,
      paused_cycle = CASE WHEN ${!isRound(one)} THEN paused_cycle END
    WHERE batch_export_id = ${one.batch_export_id} AND revision = ${one.revision}`);
  if (one.is_scheduled)
    await tx.run(sql`DELETE FROM batch_export_verifications
      WHERE batch_export_id = ${one.batch_export_id} AND is_scheduled AND id <> ${one.id}
        AND finished_at IS NOT NULL`);
}

/** Schedules a look at all deliveries of an export for its next turn, whatever its budget. */
export async function lookSoon(tx: Transaction, { id }: { id: string }): Promise<void> {
  await tx.run(sql`UPDATE batch_export_watches SET due_at = now(), cycle_ended_at = NULL,
      cycle_looked_at = NULL, paused_cycle = NULL,
      balance_ms = greatest(balance_ms, ${person_credit_ms})
    WHERE batch_export_id = ${id}`);
}

/**
 * Ends a look that could not read the destination: `verified_through` stays, and shows the reason.
 */
export async function standStill(engine: Engine, one: Verification, error: unknown): Promise<void> {
  const { db, log } = engine;
  log.warn(
    { err: error, verification: one.id, batch_export_id: one.batch_export_id },
    'a destination could not be asked what it has',
  );
  const reason = reasonOf(error);
  await fail(engine, one, reason);
  await db.run(sql`
    UPDATE batch_export_watches SET reason = ${reason}, failures = failures + 1,
      due_at = now() + make_interval(secs =>
        least(${failed_pause_seconds_max}, ${pause_seconds} * power(2, least(failures, 10))))
    WHERE batch_export_id = ${one.batch_export_id} AND revision = ${one.revision}`);
}
