// The plans that PostgreSQL follows, as it reports them: with the actual values, and of prepared
// statements.
import pg from 'pg';
import type { Database } from '../../server/platform/postgres/database.ts';

const settings = [
  ['auto_explain.log_min_duration', '0'],
  ['auto_explain.log_analyze', 'on'],
  ['auto_explain.log_buffers', 'on'],
  ['auto_explain.log_level', 'notice'],
] as const;
/** The size of the pool, or more. */
const sessions_max = 20;
/** A statement and its plan, of one execution. */
const told: string[] = [];

/**
 * Makes PostgreSQL send the plan of each statement, with rows and pages, to the session that ran
 * it. It needs a superuser.
 */
export async function tellPlans(db: Database): Promise<void> {
  // Notices of all sessions are recorded, because the requests use the server's pool.
  const emit = pg.Client.prototype.emit;
  pg.Client.prototype.emit = function emitting(name: string, ...values: unknown[]): boolean {
    if (name === 'notice') told.push((values[0] as { message: string }).message);
    return emit.call(this, name, ...values);
  };
  const { rows } = await db.text('SELECT current_database() AS name');
  const database = String(rows[0]!['name']);
  // Later sessions start with this setting. The idle ones are all taken at once, so that they get
  // it too.
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

/** Returns the plans of the statements that `work` runs. */
export async function plansOf(work: () => Promise<unknown>): Promise<string[]> {
  told.length = 0;
  await work();
  return told.splice(0);
}
