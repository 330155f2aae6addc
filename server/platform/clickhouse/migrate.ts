import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClickHouse } from './client.ts';
import { caughtUp } from './topology/caught_up.ts';
import { requireEverywhere } from './topology/require_everywhere.ts';
import { statementFor } from './topology/statements.ts';

/**
 * Applies the `NNNN_what.sql` files of the folder that the store lacks, in order. A file contains
 * statements that end with `;` at the end of a line. Each must be idempotent (`IF NOT EXISTS`),
 * because ClickHouse has no transactions around them. The caller holds the migration lock of the
 * control store. With `only`, it applies no other file. A store with replicas counts a file as
 * applied once all replicas have its tables and columns. Returns the applied names.
 */
export async function migrateClickHouse(
  clickhouse: ClickHouse,
  folder: string,
  { only }: { only?: ReadonlySet<string> } = {},
): Promise<string[]> {
  if (clickhouse.mode.kind === 'one_node' || !(await hasMigrations(clickhouse)))
    await clickhouse.command({
      query: statementFor(
        clickhouse.mode,
        'CREATE TABLE IF NOT EXISTS migrations (name String, applied_at DateTime64(3) DEFAULT ' +
          'now64(3)) ENGINE = MergeTree ORDER BY name',
      ),
    });
  const known = await caughtUp(clickhouse, ['migrations'], () => namesApplied(clickhouse));
  const files = (await readdir(folder)).filter((name) => /^\d{4}_.+\.sql$/.test(name)).sort();
  const applied: string[] = [];
  for (const name of files) {
    if (known.has(name) || only?.has(name) === false) continue;
    for (const statement of statementsOf(await readFile(join(folder, name), 'utf8')))
      await clickhouse.command({ query: statementFor(clickhouse.mode, statement) });
    await requireEverywhere(clickhouse);
    await clickhouse.insert({
      table: 'migrations',
      values: [{ name }],
      columns: ['name'],
      format: 'JSONEachRow',
    });
    applied.push(name);
  }
  return applied;
}

/** Creating on all replicas waits for an unreachable one, and a start should not wait. */
async function hasMigrations(clickhouse: ClickHouse): Promise<boolean> {
  const rows = await clickhouse.rows({
    query: `SELECT 1 FROM system.tables WHERE database = currentDatabase()
      AND name = 'migrations'`,
  });
  return rows.length > 0;
}

async function namesApplied(clickhouse: ClickHouse): Promise<Set<string>> {
  const rows = await clickhouse.rows<{ name: string }>({ query: 'SELECT name FROM migrations' });
  return new Set(rows.map((row) => row.name));
}

/** Splits a migration's text into statements. */
export function statementsOf(text: string): string[] {
  return text
    .replaceAll(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
