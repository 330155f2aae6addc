import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import type { Engine } from '../engine.ts';
import type { Position } from './deliveries.ts';

/** Kinds of faults at a destination. */
export const finding_kinds = [
  'missing',
  'doubled',
  'changed',
  'foreign',
  'receipt',
  'unreadable',
  'uncertain',
] as const;

/** The states of a verification. */
export const verification_statuses = [
  'Starting',
  'Running',
  'Completed',
  'Failed',
  'Cancelled',
] as const;

/** A verification that one process has claimed; `claim_id` identifies the claim. */
export type Verification = {
  id: string;
  batch_export_id: string;
  revision: number;
  start_at: string | null;
  end_at: string | null;
  deliveries: number | null;
  records: number | null;
  deliveries_checked: number;
  records_checked: number;
  position: Position | null;
  differences: number;
  notes: string[];
  is_unproven: boolean;
  doubtful_from: number | null;
  tries: number;
  started_at: string;
  claim_id: string;
  is_scheduled: boolean;
  /** Processor time that a scheduled look may use, in milliseconds. */
  balance_ms: number;
  /** Measured processor time of looks, as a multiple of the estimate. */
  look_factor: number;
};

/** The fields from which a paused look at all deliveries continues. */
export type PausedCycle = Pick<
  Verification,
  | 'started_at'
  | 'deliveries'
  | 'records'
  | 'deliveries_checked'
  | 'records_checked'
  | 'position'
  | 'differences'
  | 'notes'
  | 'is_unproven'
>;

/** After this silence, a process counts as dead. */
const claim_seconds = 20;
const renew_ms = 1_000;

/**
 * Adds a verification of the deliveries in a range for a worker. A person's verification replaces a
 * scheduled one. False: another one is open.
 */
export async function insertVerification(
  tx: Transaction,
  wanted: {
    id: string;
    batch_export_id: string;
    revision: number;
    start_at: string | null;
    end_at: string | null;
    is_scheduled?: boolean;
    /** A paused look at all deliveries, to continue after its last one. */
    paused?: PausedCycle | null;
  },
): Promise<boolean> {
  const { is_scheduled = false, paused = null } = wanted;
  await tx.run(sql`DELETE FROM batch_export_verifications
    WHERE batch_export_id = ${wanted.batch_export_id} AND is_scheduled AND ${
      is_scheduled ? sql`status = 'Failed'` : sql`finished_at IS NULL`
    }`);
  const inserted = await tx.run(sql`
    INSERT INTO batch_export_verifications (id, batch_export_id, revision, start_at, end_at,
      is_scheduled, started_at, deliveries, records, deliveries_checked, records_checked, position,
      differences, notes, is_unproven)
    SELECT ${wanted.id}, ${wanted.batch_export_id}, ${wanted.revision}, ${wanted.start_at},
      ${wanted.end_at}, ${is_scheduled}, paused.started_at, paused.deliveries, paused.records,
      coalesce(paused.deliveries_checked, 0), coalesce(paused.records_checked, 0), paused.position,
      coalesce(paused.differences, 0), coalesce(paused.notes, '[]'),
      coalesce(paused.is_unproven, false)
    FROM jsonb_to_record(coalesce(${paused && JSON.stringify(paused)}::jsonb, '{}')) AS paused (
      started_at timestamptz, deliveries integer, records bigint, deliveries_checked integer,
      records_checked bigint, position jsonb, differences integer, notes jsonb,
      is_unproven boolean)
    ON CONFLICT (batch_export_id) WHERE finished_at IS NULL DO NOTHING`);
  return inserted === 1;
}

/** Ends a verification and keeps its findings. False if it has ended already. */
export async function cancelVerification(tx: Transaction, id: string): Promise<boolean> {
  const ended = await tx.run(sql`
    UPDATE batch_export_verifications SET status = 'Cancelled', detail = NULL, finished_at = now(),
      last_updated_at = now() WHERE id = ${id} AND finished_at IS NULL`);
  return ended === 1;
}

/** The server or bucket of an export `e`: exports to the same one take turns. */
const place = sql`concat_ws(' ', e.destination_type, coalesce(e.connection_id::text,
  e.destination_config ->> 'host', e.destination_config ->> 'endpoint_url'),
  e.destination_config ->> 'bucket_name')`;

/**
 * Claims the longest waiting verification exclusively; undefined if none waits. Of the scheduled
 * ones, only one at a time reads the same destination.
 */
export function claimVerification(
  { db }: Engine,
  is_scheduled: boolean,
): Promise<Verification | undefined> {
  const is_free = is_scheduled
    ? sql`AND NOT EXISTS (SELECT 1 FROM batch_export_verifications busy
        JOIN batch_exports other ON other.id = busy.batch_export_id
        JOIN batch_exports own ON own.id = v.batch_export_id
        WHERE busy.finished_at IS NULL AND busy.id <> v.id
          AND busy.claimed_at >= now() - make_interval(secs => ${claim_seconds})
          AND (SELECT ${place} FROM batch_exports e WHERE e.id = other.id)
            = (SELECT ${place} FROM batch_exports e WHERE e.id = own.id))`
    : sql``;
  return db.row<Verification>(sql`
    UPDATE batch_export_verifications SET claim_id = ${randomUUID()}::uuid, claimed_at = now(),
      status = 'Running', records_in_part = 0, started_at = coalesce(started_at, now()),
      last_updated_at = now()
    WHERE id = (SELECT id FROM batch_export_verifications v WHERE finished_at IS NULL
        AND v.is_scheduled = ${is_scheduled} AND due_at <= now() AND (claimed_at IS NULL
          OR claimed_at < now() - make_interval(secs => ${claim_seconds})) ${is_free}
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING is_scheduled, coalesce((SELECT w.balance_ms FROM batch_export_watches w
        WHERE w.batch_export_id = batch_export_verifications.batch_export_id), 0) AS balance_ms,
      coalesce((SELECT w.look_factor FROM batch_export_watches w
        WHERE w.batch_export_id = batch_export_verifications.batch_export_id), 1) AS look_factor,
      id, batch_export_id, revision, start_at, end_at, deliveries, records,
      deliveries_checked, records_checked, position, differences, notes, is_unproven,
      doubtful_from, tries, started_at, claim_id`);
}

/**
 * Runs `work` and renews the claim. Its signal aborts when the claim is lost: the verification was
 * cancelled, its export is gone, or another process has claimed it. `records` returns the number of
 * compared rows of the current part, which is shown until the part is done.
 */
export async function whileHeld<Result>(
  { db, log }: Engine,
  { id, claim_id }: Verification,
  signal: AbortSignal,
  records: () => number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const renew = async () => {
    const held = await db.run(sql`
      UPDATE batch_export_verifications SET claimed_at = now(),
        records_in_part = ${records()}::bigint, last_updated_at = now()
      WHERE id = ${id} AND claim_id = ${claim_id}::uuid AND finished_at IS NULL`);
    if (held === 0) lost.abort();
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) =>
      log.warn({ err: error }, 'the hold on a verification could not be renewed'),
    );
  }, renew_ms);
  try {
    const stopped = AbortSignal.any([signal, lost.signal]);
    // Not every destination heeds the signal while it reads.
    return await Promise.race([work(stopped), rejectedBy(stopped)]);
  } finally {
    clearInterval(timer);
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return promise;
}

/** Locks a verification that this process still holds; false if it lost it. */
export async function lockHeld(
  tx: Transaction,
  { id, claim_id }: Pick<Verification, 'id' | 'claim_id'>,
): Promise<boolean> {
  const row = await tx.row(sql`SELECT 1 FROM batch_export_verifications WHERE id = ${id}
    AND claim_id = ${claim_id}::uuid AND finished_at IS NULL FOR UPDATE`);
  return row !== undefined;
}

/** Releases a verification for a later try, with the reason. */
export async function postpone(
  { db }: Engine,
  { id, claim_id, tries }: Verification,
  { detail, seconds }: { detail: string | null; seconds: number },
): Promise<void> {
  await db.run(sql`
    UPDATE batch_export_verifications SET claim_id = NULL, claimed_at = NULL,
      due_at = now() + make_interval(secs => ${seconds}),
      tries = ${seconds === 0 ? tries : tries + 1}, detail = ${detail},
      records_in_part = 0, last_updated_at = now()
    WHERE id = ${id} AND claim_id = ${claim_id}::uuid AND finished_at IS NULL`);
}

/** Ends a verification early, with the reason. */
export async function fail({ db }: Engine, one: Verification, detail: string): Promise<void> {
  await db.run(sql`
    UPDATE batch_export_verifications SET status = 'Failed', detail = ${detail}, claim_id = NULL,
      records_in_part = 0, finished_at = now(), last_updated_at = now()
    WHERE id = ${one.id} AND claim_id = ${one.claim_id}::uuid AND finished_at IS NULL`);
}
