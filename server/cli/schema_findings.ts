import sql from 'sql-template-tag';
import { openDatabase } from '../platform/postgres/database.ts';
import type { Database } from '../platform/postgres/database.ts';
import { pendingMigrations } from '../platform/postgres/migrate.ts';
import { version } from '../platform/version.ts';
import { warning } from './finding.ts';
import type { Finding } from './finding.ts';
import type { Stores } from './stores.ts';

/**
 * What the next start of this release will change of the database: a finding for each migration
 * with its purpose and the rows of the tables that it reads or writes whole; undefined when there
 * is none, as on an empty database. Rejects with `SchemaTooNewError` where this release cannot
 * work. Nothing is changed.
 */
export async function lookAtSchema(stores: Stores, folder: string): Promise<Finding[] | undefined> {
  const db = openDatabase(stores.database_url, {
    connections_max: 1,
    application_name: 'sluice-doctor',
  });
  try {
    const pending = await pendingMigrations(db, folder);
    const isFirst =
      (await db.row(sql`SELECT 1 WHERE to_regclass('migrations') IS NULL`)) !== undefined;
    if (isFirst || pending.length === 0) return undefined;
    const findings: Finding[] = [];
    for (const { name, purpose, text } of pending)
      findings.push(warning('migration', `${name}: ${purpose}${await costOf(db, text)}.`));
    const many = pending.length === 1 ? 'One migration' : `${pending.length} migrations`;
    return [
      ...findings,
      warning(
        'schema',
        `${many} to Sluice ${version} will be applied at its next start, each whole or not at ` +
          'all. Make a backup first; exports and people are looked at after it.',
      ),
    ];
  } finally {
    await db.close();
  }
}

/** The rows of tables of today that the text changes, indexes or fills, by the planner's count. */
async function costOf(db: Database, text: string): Promise<string> {
  const statements = text.replaceAll(/--.*$/gm, '');
  const named = [
    ...statements.matchAll(
      /\b(?:ALTER TABLE(?: IF EXISTS)?|UPDATE|DELETE FROM|INDEX\s+(?:IF NOT EXISTS\s+)?\w+\s+ON)\s+(\w+)/gi,
    ),
  ].map(([, table]) => table!.toLowerCase());
  const rows = await db.rows<{ name: string; count: number }>(sql`
    SELECT relname AS name, greatest(reltuples, 0)::float8 AS count FROM pg_class
    WHERE relkind = 'r' AND relname = ANY (${[...new Set(named)]}::text[])
      AND relnamespace = current_schema()::regnamespace ORDER BY reltuples DESC, relname`);
  if (rows.length === 0) return '';
  const tables = rows.map(({ name, count }) => `${name} (${count.toLocaleString('en')} rows)`);
  return `; locks ${tables.join(', ')} while it runs`;
}
