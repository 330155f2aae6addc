import sql from 'sql-template-tag';
import type { Clock } from '../clock.ts';
import { isoInstant } from '../clock.ts';
import type { Database } from '../postgres/database.ts';

/**
 * Throttling of a subject: `free` attempts (2 or more) in a row, then a pause before each further
 * one, which doubles up to the longest.
 */
export type AttemptPolicy = { free: number; pause_seconds_min: number; pause_seconds_max: number };

type Store = { db: Pick<Database, 'rows' | 'run'>; clock: Clock };

/** A series expires this long after its last attempt: 24 h. */
const forgotten_ms = 24 * 3_600_000;

/**
 * Counts an attempt before it is made and returns undefined if it is allowed, otherwise the whole
 * seconds to wait; refused attempts are not counted. Guarantee: concurrent attempts, over all
 * processes, never exceed the policy, because the row decides.
 */
export async function takeAttempt(
  store: Store,
  subject: string,
  policy: AttemptPolicy,
): Promise<number | undefined> {
  return (await takeAttempts(store, [subject], policy)).get(subject);
}

/**
 * Counts an attempt for each of the distinct subjects, like `takeAttempt`, and returns those that
 * have to wait with their seconds.
 */
export async function takeAttempts(
  { db, clock }: Store,
  subjects: string[],
  policy: AttemptPolicy,
): Promise<Map<string, number>> {
  const now_ms = clock.now();
  const now = isoInstant(now_ms);
  const { free, pause_seconds_min, pause_seconds_max } = policy;
  // The exponent is bounded, so that a long series cannot overflow. The statement locks the rows in
  // the order of their subjects, which avoids deadlocks; a second one that waits sees the changes
  // of the first.
  const taken = await db.rows<{ subject: string }>(sql`
    INSERT INTO attempts AS known (subject, attempts, last_attempt_at, blocked_until)
      SELECT asked.subject, 1, ${now}::timestamptz, ${now}::timestamptz
      FROM unnest(${subjects}::text[]) AS asked (subject) ORDER BY asked.subject
    ON CONFLICT (subject) DO UPDATE SET (attempts, last_attempt_at, blocked_until) = (
      SELECT next.number, EXCLUDED.last_attempt_at, EXCLUDED.last_attempt_at + make_interval(secs =>
        CASE WHEN next.number < ${free}::integer THEN 0
        ELSE least(${pause_seconds_max}::float8,
          ${pause_seconds_min}::float8 * 2 ^ least(next.number - ${free}::integer, 30)) END)
      FROM (SELECT CASE WHEN known.last_attempt_at <
        ${isoInstant(now_ms - forgotten_ms)}::timestamptz THEN 1
        ELSE known.attempts + 1 END AS number) next)
    WHERE known.blocked_until <= EXCLUDED.last_attempt_at RETURNING known.subject`);
  if (taken.length === subjects.length) return new Map();
  const let_through = new Set(taken.map(({ subject }) => subject));
  const waiting = subjects.filter((subject) => !let_through.has(subject));
  const rows = await db.rows<{ subject: string; blocked_until: string }>(
    sql`SELECT subject, blocked_until FROM attempts WHERE subject = ANY (${waiting}::text[])`,
  );
  const blocked = new Map(rows.map((row) => [row.subject, row.blocked_until]));
  return new Map(
    waiting.map((subject) => [
      subject,
      Math.max(1, Math.ceil((Date.parse(blocked.get(subject) ?? now) - now_ms) / 1000)),
    ]),
  );
}

/** Ends the series of a subject: the next attempt is its first. */
export async function forgetAttempts({ db }: Pick<Store, 'db'>, subject: string): Promise<void> {
  await db.run(sql`DELETE FROM attempts WHERE subject = ${subject}`);
}

/** Takes one counted attempt back, with its pause; the others of the series still count. */
export async function takeBackAttempt({ db, clock }: Store, subject: string): Promise<void> {
  await db.run(
    sql`UPDATE attempts SET attempts = attempts - 1,
      blocked_until = ${isoInstant(clock.now())}::timestamptz WHERE subject = ${subject}
      AND attempts > 0`,
  );
}

/** Removes expired series. Uses attempts_by_age. */
export async function sweepAttempts({ db, clock }: Store): Promise<void> {
  await db.run(
    sql`DELETE FROM attempts WHERE last_attempt_at <
      ${isoInstant(clock.now() - forgotten_ms)}::timestamptz`,
  );
}
