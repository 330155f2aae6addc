import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { LateEvents } from '../../ingest/persons/erased_ids.ts';
import type { Engine } from '../../exports/engine.ts';

/** The steps of an erasure, in order. */
export const erasure_steps = [
  'resolve',
  'note',
  'remove',
  'settle',
  'rewrite',
  'scrub',
  'files',
  'certify',
  'done',
] as const;

export type ErasureStep = (typeof erasure_steps)[number];

/** Counts of found and removed rows, by name. */
export type ErasureCounts = Partial<
  Record<
    | 'distinct_ids'
    | 'persons'
    | 'person_versions'
    | 'events'
    | 'warning_examples'
    | 'refused_events'
    | 'log_lines'
    | 'plugin_jobs'
    | 'plugin_values'
    | 'lake_files'
    | 'lake_snapshots'
    | 'lake_files_removed',
    number
  >
>;

/** An erasure that one process has claimed; `claim_id` identifies the claim. */
export type Erasure = {
  id: string;
  organization_id: string;
  team_id: number;
  kind: 'persons' | 'events';
  late_events: LateEvents;
  criteria_sealed: Buffer | null;
  step: ErasureStep;
  stored_until: string | null;
  removed_at: string | null;
  counts: ErasureCounts;
  claim_id: string;
  created_at: string;
};

/** After this silence, a process counts as dead. */
const claim_seconds = 20;
const renew_ms = 5_000;

/** From these steps on, the store has no rows of the erasure, and all copies are listed. */
const listed_steps = ['rewrite', 'scrub', 'files', 'certify'] satisfies ErasureStep[];

/**
 * Returns SQL that is true if the project of the erasure `one` has an older erasure that is still
 * searching for rows and copies. Two searches at once would change each other's results.
 */
export function waitsForOlder(one: Sql): Sql {
  return sql`EXISTS (SELECT 1 FROM erasures older WHERE older.team_id = ${one}.team_id
    AND older.finished_at IS NULL AND older.step <> ALL (${[...listed_steps]}::text[])
    AND (older.created_at, older.id) < (${one}.created_at, ${one}.id))`;
}

/** Text of an erasure whose step failed, followed by the time of the next try. */
export const failed_sentence = 'The server failed; its log says why.';

/**
 * Claims the longest due erasure that need not wait for an older one. Undefined if there is none. A
 * failed one records since when it is being retried.
 */
export async function claimErasure({ db, clock }: Engine): Promise<Erasure | undefined> {
  const now = isoInstant(clock.now());
  return db.row<Erasure>(sql`
    UPDATE erasures SET claim_id = ${randomUUID()}::uuid, claimed_at = ${now}, status = 'Running',
      last_updated_at = now(), detail = CASE WHEN starts_with(detail, ${failed_sentence})
        THEN ${`${failed_sentence} It is being tried again since ${now}.`} ELSE detail END
    WHERE id = (SELECT id FROM erasures one WHERE finished_at IS NULL
        AND due_at <= ${now}::timestamptz AND (claimed_at IS NULL
          OR claimed_at < ${now}::timestamptz - make_interval(secs => ${claim_seconds}))
        AND NOT ${waitsForOlder(sql`one`)}
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, organization_id, team_id, kind, late_events, criteria_sealed, step, stored_until,
      removed_at, counts, claim_id, created_at`);
}

/** The changes of a step; `wait_seconds` is the pause before the next one. */
export type StepEnd = {
  step: ErasureStep;
  detail: string | null;
  counts?: ErasureCounts;
  wait_seconds?: number;
  stored_until?: string;
  removed_at?: string;
};

/** Releases the erasure after a step; does nothing if another process has claimed it. */
export async function giveBack(
  { db, clock }: Engine,
  erasure: Erasure,
  end: StepEnd,
): Promise<void> {
  const due_at = isoInstant(clock.now() + (end.wait_seconds ?? 0) * 1_000);
  await db.run(sql`
    UPDATE erasures SET step = ${end.step}, detail = ${end.detail}, claim_id = NULL,
      claimed_at = NULL, due_at = ${due_at},
      counts = counts || ${JSON.stringify(end.counts ?? {})}::jsonb,
      stored_until = coalesce(${end.stored_until ?? null}::timestamptz, stored_until),
      removed_at = coalesce(${end.removed_at ?? null}::timestamptz, removed_at),
      last_updated_at = now()
    WHERE id = ${erasure.id} AND claim_id = ${erasure.claim_id}::uuid`);
}

/** Records what a step is waiting for. */
export async function noteDetail(
  db: Queryable,
  { id, claim_id }: Erasure,
  detail: string,
): Promise<void> {
  await db.run(sql`UPDATE erasures SET detail = ${detail}, last_updated_at = now()
    WHERE id = ${id} AND claim_id = ${claim_id}::uuid AND detail IS DISTINCT FROM ${detail}`);
}

/**
 * Runs `work` and renews the claim on the erasure meanwhile. The signal of `work` aborts with
 * `signal`, or when another process has claimed the erasure.
 */
export async function whileHeld<Result>(
  { db, clock, log }: Engine,
  { id, claim_id }: Erasure,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const renew = async () => {
    const held = await db.run(sql`UPDATE erasures SET claimed_at = ${isoInstant(clock.now())}
      WHERE id = ${id} AND claim_id = ${claim_id}::uuid`);
    if (held === 0) lost.abort();
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => log.warn({ err: error }, 'an erasure could not be renewed'));
  }, renew_ms);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(timer);
  }
}
