import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const page = readFileSync(join(root, 'docs/storage.md'), 'utf8');
const migrations = globSync(join(root, 'migrations/*.sql'))
  .toSorted()
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

/** The tables of the page: how long a row stays, and what bounds it. */
const listed = [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
  .map(([, table, stays, bounds]) => ({ table: table!, stays: stays!, bounds: bounds! }))
  // The page has a table of settings too.
  .filter(({ bounds }) => bounds.trim() !== '');

/** The statement that creates a table. */
function statementOf(table: string): string | undefined {
  return new RegExp(`^CREATE (?:UNLOGGED )?TABLE ${table} \\([\\s\\S]*?^\\);`, 'm').exec(
    migrations,
  )?.[0];
}

test('every table is bounded, or says as whose part or why it stays (docs/storage.md)', () => {
  const created = [...migrations.matchAll(/^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/gm)]
    .map(([, table]) => table!)
    .filter((table) => !migrations.includes(`DROP TABLE ${table}`));
  // The runner of migrations creates its own table.
  assert.deepEqual(
    listed.map(({ table }) => table).toSorted(),
    [...created, 'migrations'].toSorted(),
    'Give the table a row in docs/storage.md: what removes its rows, or whose part they are.',
  );
});

test('ARCHITECTURE.md lists every table', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const tables = /^## Tables\n([\s\S]*?)\nClickHouse:/m.exec(text)?.[1] ?? '';
  const named = [...tables.matchAll(/`(\w+)`/g)].map(([, table]) => table!);
  assert.deepEqual(named.toSorted(), listed.map(({ table }) => table).toSorted());
});

test('the page is right about each table', () => {
  const wrong = listed.flatMap(({ table, stays, bounds }) => {
    const names = [...bounds.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    if (stays.startsWith('as its owner'))
      return names.every((owner) =>
        new RegExp(`REFERENCES ${owner} ON DELETE CASCADE`).test(statementOf(table) ?? ''),
      ) && names.length > 0
        ? []
        : [`${table} does not go with ${names.join(', ')}: no REFERENCES ... ON DELETE CASCADE`];
    return names.flatMap((path) => {
      const code = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '';
      return new RegExp(`(DELETE FROM|TRUNCATE) ${table}\\b`).test(code)
        ? []
        : [`${path} removes nothing from ${table}`];
    });
  });
  assert.deepEqual(wrong, []);
});
