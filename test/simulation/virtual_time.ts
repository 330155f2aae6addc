import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import type { Clock } from '../../server/platform/clock.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { observer } from './observer.ts';

/** The time of a simulation: of its database, and of the clocks of its processes. */
export type VirtualTime = {
  clock: Clock;
  now(): number;
  /** Lets time pass. All later reads, in PostgreSQL or here, get the later instant. */
  pass(milliseconds: number): Promise<void>;
  /** Restores the clock and the random numbers of the process. */
  close(): void;
};

/** A Monday, on which days and weeks start. */
const first_instant = Date.parse('2026-03-02T00:00:00Z');

/**
 * A sequence holds the instant, because all sessions see its value at once, whatever their
 * snapshots. As in PostgreSQL, `now()` does not change while a transaction is open. The first call
 * notes it, and the transactions of `inTurns` make that call as they begin. All ids have one hash:
 * by another lane of the look for empty runs, the same seed would be another history.
 */
const functions = `
  CREATE SCHEMA virtual;
  CREATE SEQUENCE virtual.milliseconds START ${first_instant};
  SELECT nextval('virtual.milliseconds');
  CREATE FUNCTION virtual.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$
    BEGIN
      RETURN 'epoch'::timestamptz + (SELECT last_value FROM virtual.milliseconds)
        * interval '1 millisecond';
    END $$;
  CREATE FUNCTION virtual.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
    BEGIN
      RETURN coalesce(nullif(current_setting('virtual.began_at', true), ''),
        set_config('virtual.began_at', virtual.clock_timestamp()::text, true))::timestamptz;
    END $$;
  CREATE FUNCTION virtual.uuid_hash(uuid) RETURNS int IMMUTABLE RETURN 0;`;

/** Defaults keep the function of the time when they were written, so they are set again. */
const defaults = `
  SELECT format('ALTER TABLE %I.%I ALTER COLUMN %I SET DEFAULT %s', nspname, relname, attname,
      pg_get_expr(adbin, adrelid)) AS statement
    FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
    JOIN pg_class ON pg_class.oid = adrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'public' AND pg_get_expr(adbin, adrelid) ~ '\\m(now|clock_timestamp)\\(\\)'`;

/** Times that no function of a schema can replace. */
const syntax =
  /\b(CURRENT_(TIME|DATE|TIMESTAMP)|LOCALTIME(STAMP)?|(statement|transaction)_timestamp)\b/i;

/**
 * Gives the database its own time, which only passes when `pass` is called. The functions are in a
 * schema before `pg_catalog` in the search path of every later session. Open sessions end. Nothing
 * waits for the disk, because this PostgreSQL is never killed.
 */
export async function openVirtualTime(db: Database): Promise<VirtualTime> {
  await db.text(functions);
  await db.text(observer);
  const { rows } = await db.text(defaults);
  await db.transaction(async (tx) => {
    await tx.text('SET LOCAL search_path = virtual, pg_catalog, public');
    for (const { statement } of rows) await tx.text(statement as string);
  });
  await db.text(`DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = virtual, pg_catalog, public',
      current_database());
    EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
  END $$`);
  await db.transaction(async (tx) => {
    await tx.text(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`);
    await tx.text('SET search_path = virtual, pg_catalog, public');
    await tx.text('SET synchronous_commit = off');
  });
  let instant = first_instant;
  const now = () => instant;
  const real = { now: performance.now, random: Math.random, setInterval, pause: timers.setTimeout };
  const setPause = (pause: unknown) => {
    Object.assign(timers, { setTimeout: pause });
    syncBuiltinESMExports();
  };
  performance.now = now;
  // Real time must not decide. So a pause takes no time, and periodic checks never run.
  setPause(async () => undefined);
  const never = () => real.setInterval(() => undefined, 2 ** 31 - 1).unref();
  Object.assign(globalThis, { setInterval: never });
  return {
    clock: { now },
    now,
    close: () => {
      performance.now = real.now;
      Math.random = real.random;
      setPause(real.pause);
      Object.assign(globalThis, { setInterval: real.setInterval });
    },
    pass: async (milliseconds) => {
      instant += milliseconds;
      await db.text(`SELECT setval('virtual.milliseconds', ${instant})`);
    },
  };
}

/** Throws for a statement that would use real time. */
export function requireVirtual(text: string): void {
  const found = syntax.exec(text);
  if (found !== null)
    throw new Error(`${found[0]} is the real time: write now() or clock_timestamp().`);
}
