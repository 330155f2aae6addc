import { hash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Database } from '../postgres/database.ts';
import { version } from '../version.ts';

/**
 * A migration that changes a table partition by partition. `statement` has `{partition}` in place
 * of a partition's id; `purpose` is the first sentence of the file's comment.
 */
export type BackgroundMigration = {
  name: string;
  sha256: string;
  purpose: string;
  table_name: string;
  statement: string;
};

/**
 * Reads the `NNNN_what.sql` files of the folder, in order; none if the folder does not exist. Each
 * is one `ALTER TABLE` with one command, which must be idempotent. Throws for any other text.
 */
export function readBackgroundMigrations(folder: string): BackgroundMigration[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^\d{4}_.+\.sql$/.test(name));
  return names.sort().map((name) => readOne(name, readFileSync(join(folder, name), 'utf8')));
}

function readOne(name: string, text: string): BackgroundMigration {
  const head = /^(?:--.*\n)*/.exec(text)![0].replaceAll(/^--\s?/gm, '');
  const purpose = (/^[^.]*/.exec(head)?.[0] ?? '').replaceAll(/\s+/g, ' ').trim();
  const statement = text
    .replaceAll(/^--.*$/gm, '')
    .trim()
    .replace(/;$/, '');
  const table_name = /^ALTER TABLE (\w+) /.exec(statement)?.[1];
  if (table_name === undefined || statement.includes(';') || !statement.includes('{partition}'))
    throw new Error(
      `The background migration ${name} must be one ALTER TABLE with IN PARTITION ID {partition}.`,
    );
  return { name, sha256: hash('sha256', text), purpose, table_name, statement };
}

/**
 * Records the files that the database does not know yet: from then on, processes carry them out.
 * Refuses a file that was changed since it was recorded, like every migration.
 */
export async function noteBackgroundMigrations(db: Database, folder: string): Promise<void> {
  for (const { name, sha256, purpose, table_name, statement } of readBackgroundMigrations(folder)) {
    await db.run(sql`
      INSERT INTO background_migrations (name, sha256, release, purpose, table_name, statement)
      VALUES (${name}, ${sha256}, ${version}, ${purpose}, ${table_name}, ${statement})
      ON CONFLICT DO NOTHING`);
    const known = await db.row<{ sha256: string }>(
      sql`SELECT sha256 FROM background_migrations WHERE name = ${name}`,
    );
    if (known?.sha256 !== sha256)
      throw new Error(
        `The migration ${name} was changed after this database had noted it; restore the file.`,
      );
  }
}
