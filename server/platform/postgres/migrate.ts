import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import semver from 'semver';
import sql from 'sql-template-tag';
import { version } from '../version.ts';
import type { Database, Transaction } from './database.ts';
import { requireNoOlderProcess } from './older_processes.ts';

/** The advisory lock that lets one process migrate at a time. */
const migration_lock = 7_301_001;

/**
 * A file of the folder. `purpose` is the first sentence of its comment. `oldest_release` is the
 * oldest release that works with its result (its line `-- Oldest release: 1.1.0`); undefined if
 * every one does, because it only adds.
 */
type Migration = {
  name: string;
  text: string;
  sha256: string;
  purpose: string;
  oldest_release: string | undefined;
};

/** Thrown if a newer release has migrated the database in an incompatible way. */
export class SchemaTooNewError extends Error {
  constructor(own: string, { name, release, oldest_release }: Applied) {
    super(
      `This is Sluice ${own}, and the database was upgraded to ${release} (migration ` +
        `${name}), which needs ${oldest_release} or newer. Nothing was changed. Start ` +
        `${release} again; to go back to ${own}, restore the backup that was created before ` +
        'the upgrade.',
    );
    this.name = 'SchemaTooNewError';
  }
}

type Applied = {
  name: string;
  sha256: string;
  release: string | null;
  oldest_release: string | null;
};

/**
 * Applies the `NNNN_what.sql` files of the folder that the database lacks, in order, each in its
 * own transaction. Guarantees: two processes that start at once apply each file exactly once; a
 * failed file leaves nothing behind; a file that was changed after it was applied is refused. A
 * database with files of a newer release is accepted if that release allows it, and is a
 * `SchemaTooNewError` otherwise. A file that older processes cannot work with is an
 * `OlderProcessError` while one of them is connected. With `only`, it applies no other file.
 * Returns the applied names.
 */
export async function migratePostgres(
  db: Database,
  folder: string,
  release = version,
  only?: ReadonlySet<string>,
): Promise<string[]> {
  await db.transaction(async (tx) => {
    await lock(tx);
    await tx.text(
      'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, sha256 text NOT NULL, ' +
        'applied_at timestamptz NOT NULL DEFAULT now()); ' +
        'ALTER TABLE migrations ADD COLUMN IF NOT EXISTS release text, ' +
        'ADD COLUMN IF NOT EXISTS oldest_release text',
    );
  });
  const applied: string[] = [];
  for (const migration of await pendingMigrations(db, folder, release)) {
    if (only?.has(migration.name) === false) continue;
    const isNew = await db.transaction(async (tx) => {
      await lock(tx);
      const { name, text, sha256, oldest_release } = migration;
      const known = await tx.row(sql`SELECT 1 FROM migrations WHERE name = ${name}`);
      if (known !== undefined) return false;
      await tx.text(text);
      await tx.run(sql`INSERT INTO migrations (name, sha256, release, oldest_release)
        VALUES (${name}, ${sha256}, ${release}, ${oldest_release})`);
      return true;
    });
    if (isNew) applied.push(migration.name);
  }
  return applied;
}

/**
 * Lists the files that the database lacks, in order; changes nothing. Rejects like
 * `migratePostgres`.
 */
export async function pendingMigrations(
  db: Database,
  folder: string,
  release = version,
): Promise<Migration[]> {
  const files = await readMigrations(folder);
  const known = await appliedMigrations(db);
  for (const { name, sha256 } of files)
    if (known.has(name) && known.get(name)!.sha256 !== sha256)
      throw new Error(
        `The migration ${name} was changed after this database had applied it; bring back ` +
          'the file, or start with an empty database.',
      );
  const own = new Set(files.map(({ name }) => name));
  for (const row of known.values())
    if (!own.has(row.name) && row.oldest_release !== null)
      if (semver.lt(release, row.oldest_release)) throw new SchemaTooNewError(release, row);
  const pending = files.filter(({ name }) => !known.has(name));
  if (known.size > 0)
    for (const { name, oldest_release } of pending)
      if (oldest_release !== undefined) await requireNoOlderProcess(db, name, oldest_release);
  return pending;
}

/**
 * Lists the migrations of a newer release that this one does not know, with that release. They are
 * harmless: `pendingMigrations` rejects if this release could not work with them.
 */
export async function newerMigrations(
  db: Database,
  folder: string,
): Promise<{ name: string; release: string | null }[]> {
  const own = new Set((await readMigrations(folder)).map(({ name }) => name));
  const applied = [...(await appliedMigrations(db)).values()];
  return applied
    .filter(({ name }) => !own.has(name))
    .map(({ name, release }) => ({ name, release }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

async function appliedMigrations(db: Database): Promise<Map<string, Applied>> {
  const exists = await db.row(sql`SELECT 1 WHERE to_regclass('migrations') IS NOT NULL`);
  if (exists === undefined) return new Map();
  // A table from before releases were recorded has no columns for them.
  const rows = await db.rows<{ row: Applied }>(sql`SELECT to_jsonb(m) AS row FROM migrations m`);
  return new Map(
    rows.map(({ row }) => [
      row.name,
      { ...row, release: row.release ?? null, oldest_release: row.oldest_release ?? null },
    ]),
  );
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      const head = /^(?:--.*\n)*/.exec(text)![0].replaceAll(/^--\s?/gm, '');
      return {
        name,
        text,
        sha256: hash('sha256', text),
        purpose: (/^[^.]*/.exec(head)?.[0] ?? '').replaceAll(/\s+/g, ' ').trim(),
        oldest_release: /^Oldest release: (\S+)$/m.exec(head)?.[1],
      };
    }),
  );
}

async function lock(tx: Transaction): Promise<void> {
  await tx.row(sql`SELECT pg_advisory_xact_lock(${migration_lock})`);
}
