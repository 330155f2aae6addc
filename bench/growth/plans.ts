// The plans that PostgreSQL follows, as it tells them itself: with the values that were asked for,
// and what was prepared before.
import pg from 'pg';
import type { Database } from '../../server/platform/postgres/database.ts';

const settings = [
  ['auto_explain.log_min_duration', '0'],
  ['auto_explain.log_analyze', 'on'],
  ['auto_explain.log_buffers', 'on'],
  ['auto_explain.log_level', 'notice'],
] as const;
/** As many as the pool may have, or more. */
const sessions_max = 20;
/** A statement and its plan, of one execution. */
const told: string[] = [];

/**
 * Lets PostgreSQL tell the plan of each statement, with rows and pages, to whoever sent it. It
 * needs a superuser.
 */
export async function tellPlans(db: Database): Promise<void> {
  // Notices of every session are recorded, because the requests go through the pool of the server.
  const emit = pg.Client.prototype.emit;
  pg.Client.prototype.emit = function emitting(name: string, ...values: unknown[]): boolean {
    if (name === 'notice') told.push((values[0] as { message: string }).message);
    return emit.call(this, name, ...values);
  };
  const { rows } = await db.text('SELECT current_database() AS name');
  const database = String(rows[0]!['name']);
  // Sessions that are opened from now on begin with it; those that wait are all taken at once.
  await db.text(`ALTER DATABASE ${database} SET session_preload_libraries = 'auto_explain'`);
  for (const [name, value] of settings)
    await db.text(`ALTER DATABASE ${database} SET ${name} = '${value}'`);
  const begin = [
    "LOAD 'auto_explain'",
    ...settings.map(([name, value]) => `SET ${name} = ${value}`),
  ];
  await Promise.all(
    Array.from({ length: sessions_max }, () => db.transaction((tx) => tx.text(begin.join(';')))),
  );
}

/** The plans of what `work` asks for. */
export async function plansOf(work: () => Promise<unknown>): Promise<string[]> {
  told.length = 0;
  await work();
  return told.splice(0);
}
