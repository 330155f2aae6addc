import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';

/** Requests that began before midnight are read by then. */
const kept_beyond_day_ms = 3_600_000;

/** Gives the salt of the day (UTC) in which an instant lies, in milliseconds of epoch time. */
export type VisitorSalts = (received_ms: number) => Promise<string>;

/**
 * Opens the salts of all days. Guarantee: all processes get the same one for a day, 256 bits that
 * nobody chose, and the store is asked once a day.
 */
export function openVisitorSalts(db: Queryable): VisitorSalts {
  let latest: { day: string; salt: Promise<string> } | undefined;
  return (received_ms) => {
    const day = dayOf(received_ms);
    if (latest?.day === day) return latest.salt;
    const salt = findSalt(db, day);
    if (latest !== undefined && day < latest.day) return salt;
    latest = { day, salt };
    // Who comes next asks again.
    salt.catch(() => {
      if (latest?.salt === salt) latest = undefined;
    });
    return salt;
  };
}

/**
 * Forgets the salts of the days that are over. The table gets a new file: in the old one their
 * bytes would stand for weeks, also where dead rows are cleared.
 */
export async function sweepVisitorSalts(db: Database, now_ms: number): Promise<void> {
  const day = dayOf(now_ms - kept_beyond_day_ms);
  if ((await db.run(sql`DELETE FROM visitor_salts WHERE day < ${day}::date`)) > 0)
    await db.text('VACUUM FULL visitor_salts');
}

function dayOf(instant_ms: number): string {
  return isoInstant(instant_ms).slice(0, 10);
}

/** The first process of a day makes its salt. */
async function findSalt(db: Queryable, day: string): Promise<string> {
  const made = randomBytes(32).toString('base64url');
  const [kept] = await db.rows<{ salt: string }>(sql`
    INSERT INTO visitor_salts (day, salt) VALUES (${day}::date, ${made})
    ON CONFLICT (day) DO UPDATE SET salt = visitor_salts.salt RETURNING salt`);
  return kept!.salt;
}
