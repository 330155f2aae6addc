import sql from 'sql-template-tag';
import type { Clock } from './clock.ts';
import { isoInstant } from './clock.ts';
import type { Database } from './postgres/database.ts';

/**
 * How a subject is slowed: `free` attempts (2 or more) in a row, then a pause before each further
 * one, twice as long every time up to the longest.
 */
export type AttemptPolicy = { free: number; pause_seconds_min: number; pause_seconds_max: number };

type Store = { db: Pick<Database, 'row' | 'run'>; clock: Clock };

/** A series is forgotten this long after its last attempt: 24 h. */
const forgotten_ms = 24 * 3_600_000;

/**
 * Counts an attempt before it is made and gives undefined when it may be made, else the whole
 * seconds to wait; what is refused is not counted. Guarantee: however many attempts arrive at once,
 * on however many processes, no more than the policy allows are let through, because the row
 * decides.
 */
export async function takeAttempt(
  { db, clock }: Store,
  subject: string,
  policy: AttemptPolicy,
): Promise<number | undefined> {
  const now_ms = clock.now();
  const now = isoInstant(now_ms);
  const { free, pause_seconds_min, pause_seconds_max } = policy;
  // The exponent is bounded, so that a long series cannot overflow. The statement locks the
  // subject's row; a second one that waits for it sees what the first one wrote.
  const taken = await db.run(sql`
    INSERT INTO attempts AS known (subject, attempts, last_attempt_at, blocked_until)
      VALUES (${subject}, 1, ${now}::timestamptz, ${now}::timestamptz)
    ON CONFLICT (subject) DO UPDATE SET (attempts, last_attempt_at, blocked_until) = (
      SELECT next.number, EXCLUDED.last_attempt_at, EXCLUDED.last_attempt_at + make_interval(secs =>
        CASE WHEN next.number < ${free}::integer THEN 0
        ELSE least(${pause_seconds_max}::float8,
          ${pause_seconds_min}::float8 * 2 ^ least(next.number - ${free}::integer, 30)) END)
      FROM (SELECT CASE WHEN known.last_attempt_at <
        ${isoInstant(now_ms - forgotten_ms)}::timestamptz THEN 1
        ELSE known.attempts + 1 END AS number) next)
    WHERE known.blocked_until <= EXCLUDED.last_attempt_at`);
  if (taken === 1) return undefined;
  const row = await db.row<{ blocked_until: string }>(
    sql`SELECT blocked_until FROM attempts WHERE subject = ${subject}`,
  );
  return Math.max(1, Math.ceil((Date.parse(row?.blocked_until ?? now) - now_ms) / 1000));
}

/** Ends the series of a subject: the next attempt is its first. */
export async function forgetAttempts({ db }: Pick<Store, 'db'>, subject: string): Promise<void> {
  await db.run(sql`DELETE FROM attempts WHERE subject = ${subject}`);
}

/**
 * Takes one counted attempt back, with the pause that it brought; the others of the series still
 * count.
 */
export async function takeBackAttempt({ db, clock }: Store, subject: string): Promise<void> {
  await db.run(
    sql`UPDATE attempts SET attempts = attempts - 1,
      blocked_until = ${isoInstant(clock.now())}::timestamptz WHERE subject = ${subject}
      AND attempts > 0`,
  );
}

/** Removes the series that are forgotten. Leans on attempts_by_age. */
export async function sweepAttempts({ db, clock }: Store): Promise<void> {
  await db.run(
    sql`DELETE FROM attempts WHERE last_attempt_at <
      ${isoInstant(clock.now() - forgotten_ms)}::timestamptz`,
  );
}
