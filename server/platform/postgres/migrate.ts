import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Database, Transaction } from './database.ts';

/** The advisory lock that lets one process migrate at a time. */
const migration_lock = 7_301_001;

/**
 * Applies the `NNNN_what.sql` files of the folder that the database does not have yet, in order,
 * each in its own transaction. Guarantees: two processes that start at once apply each file exactly
 * once; a file that fails leaves nothing behind; a file that was changed since it was applied is
 * refused. Gives the names applied.
 */
export async function migratePostgres(db: Database, folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  await db.transaction(async (tx) => {
    await lock(tx);
    await tx.text(
      'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, sha256 text NOT NULL, ' +
        'applied_at timestamptz NOT NULL DEFAULT now())',
    );
  });
  const applied: string[] = [];
  for (const name of files) {
    const text = await readFile(join(folder, name), 'utf8');
    const sha256 = hash('sha256', text);
    const isNew = await db.transaction(async (tx) => {
      await lock(tx);
      const known = await tx.row<{ sha256: string }>(
        sql`SELECT sha256 FROM migrations WHERE name = ${name}`,
      );
      if (known !== undefined && known.sha256 !== sha256)
        throw new Error(
          `The migration ${name} was changed after this database had applied it; bring back ` +
            'the file, or start with an empty database.',
        );
      if (known !== undefined) return false;
      await tx.text(text);
      await tx.run(sql`INSERT INTO migrations (name, sha256) VALUES (${name}, ${sha256})`);
      return true;
    });
    if (isNew) applied.push(name);
  }
  return applied;
}

async function lock(tx: Transaction): Promise<void> {
  await tx.row(sql`SELECT pg_advisory_xact_lock(${migration_lock})`);
}
