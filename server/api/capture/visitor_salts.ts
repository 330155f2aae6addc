import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';

/** Requests that started before midnight are processed by then. */
const kept_beyond_day_ms = 3_600_000;

/** Returns the salt of the UTC day of an instant, in milliseconds of epoch time. */
export type VisitorSalts = (received_ms: number) => Promise<string>;

/**
 * Opens the access to the daily salts. Guarantee: all processes get the same 256 random bits for a
 * day, and query the store once a day.
 */
export function openVisitorSalts(db: Queryable): VisitorSalts {
  let latest: { day: string; salt: Promise<string> } | undefined;
  return (received_ms) => {
    const day = dayOf(received_ms);
    if (latest?.day === day) return latest.salt;
    const salt = findSalt(db, day);
    if (latest !== undefined && day < latest.day) return salt;
    latest = { day, salt };
    // The next caller tries again.
    salt.catch(() => {
      if (latest?.salt === salt) latest = undefined;
    });
    return salt;
  };
}

/**
 * Deletes the salts of past days. The remaining rows move to a new table file, because deleted
 * bytes would stay in the old one for weeks. Even VACUUM FULL copies rows that some transaction may
 * still see.
 */
export async function sweepVisitorSalts(db: Database, now_ms: number): Promise<void> {
  const day = dayOf(now_ms - kept_beyond_day_ms);
  const over = await db.row(sql`SELECT 1 FROM visitor_salts WHERE day < ${day}::date LIMIT 1`);
  if (over === undefined) return;
  await db.transaction(async (tx) => {
    await tx.text('LOCK TABLE visitor_salts');
    const kept = await tx.rows<{ day: string; salt: string }>(
      sql`SELECT day::text, salt FROM visitor_salts WHERE day >= ${day}::date`,
    );
    await tx.text('TRUNCATE visitor_salts');
    for (const one of kept)
      await tx.run(
        sql`INSERT INTO visitor_salts (day, salt) VALUES (${one.day}::date, ${one.salt})`,
      );
  });
}

function dayOf(instant_ms: number): string {
  return isoInstant(instant_ms).slice(0, 10);
}

/** The first process of a day creates its salt. */
async function findSalt(db: Queryable, day: string): Promise<string> {
  const made = randomBytes(32).toString('base64url');
  const [kept] = await db.rows<{ salt: string }>(sql`
    INSERT INTO visitor_salts (day, salt) VALUES (${day}::date, ${made})
    ON CONFLICT (day) DO UPDATE SET salt = visitor_salts.salt RETURNING salt`);
  return kept!.salt;
}
