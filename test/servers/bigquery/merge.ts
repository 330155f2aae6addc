import { DatabaseSync } from 'node:sqlite';
import { JobFailure } from './tables.ts';
import type { Row, StoredTable, Value } from './tables.ts';
import { nothing, tableOf, plain, selectRows, typedRow } from './rows.ts';
import type { StatementWorld, StatementResult, Parameters } from './rows.ts';

/**
 * Does a MERGE: of the rows of one key, the greatest one replaces a smaller row of the table.
 * SQLite evaluates the order and the condition, which it spells as BigQuery does.
 */
export function mergeRows(
  world: StatementWorld,
  _parameters: Parameters,
  found: (string | undefined)[],
): StatementResult {
  const [target, list = '', union = '', key = '', order = '', on = ''] = found;
  const [condition, update, columns, values] = found.slice(6);
  const table = tableOf(world, target);
  const keys = plain(key);
  const updated = update
    ?.split(', ')
    .map((one) => /^`(\w+)` = incoming\.`\1`$/.exec(one)?.[1] ?? '');
  const isSame = key
    .split(', ')
    .map((one) => `existing.${one} = incoming.${one}`)
    .join(' AND ');
  if (
    updated?.includes('') === true ||
    on !== isSame ||
    plain(values)
      .map((one) => one.replace('incoming.', ''))
      .join() !== plain(columns).join()
  )
    throw new JobFailure('invalidQuery', 'Syntax error in MERGE');
  const incoming = selectRows(world, list, union).map((row) => typedRow(table, row));
  const keyOf = (row: Row) => JSON.stringify(keys.map((name) => String(row[name] ?? null)));
  for (const row of greatestRows(table, incoming, { key, order })) {
    const existing = table.rows.findIndex((one) => keyOf(one) === keyOf(row));
    const old = table.rows[existing];
    if (old === undefined) table.rows.push(row);
    else if (updated !== undefined && isGreater(table, condition ?? '1 = 1', row, old))
      table.rows[existing] = { ...old, ...row };
  }
  return nothing;
}

function greatestRows(
  table: StoredTable,
  rows: Row[],
  { key, order }: { key: string; order: string },
): Row[] {
  return asked(table, { incoming: rows }, (database) =>
    database
      .prepare(
        `SELECT at FROM (SELECT at, ROW_NUMBER() OVER (PARTITION BY ${key} ORDER BY ${order}) AS
          place FROM incoming) WHERE place = 1 ORDER BY at`,
      )
      .all()
      .map((found) => rows[Number(found['at'])]!),
  );
}

function isGreater(table: StoredTable, condition: string, row: Row, old: Row): boolean {
  return asked(
    table,
    { incoming: [row], existing: [old] },
    (database) =>
      database.prepare(`SELECT 1 FROM incoming, existing WHERE ${condition}`).get() !== undefined,
  );
}

function asked<Answer>(
  { fields }: StoredTable,
  sides: Record<string, Row[]>,
  ask: (database: DatabaseSync) => Answer,
): Answer {
  const database = new DatabaseSync(':memory:');
  try {
    database.function('TO_JSON_STRING', { useBigIntArguments: true }, (value) =>
      value === null ? 'null' : typeof value === 'bigint' ? String(value) : JSON.stringify(value),
    );
    const columns = fields.map(({ name }) => `\`${name}\``).join(', ');
    for (const [side, rows] of Object.entries(sides)) {
      database.exec(`CREATE TABLE ${side} (at, ${columns})`);
      const insert = database.prepare(
        `INSERT INTO ${side} VALUES (?, ${fields.map(() => '?').join(', ')})`,
      );
      for (const [at, row] of rows.entries())
        insert.run(at, ...fields.map(({ name }) => bound(row[name.toLowerCase()] ?? null)));
    }
    return ask(database);
  } catch (error) {
    throw new JobFailure('invalidQuery', `Syntax error in MERGE: ${String(error)}`);
  } finally {
    database.close();
  }
}

function bound(value: Value): string | number | bigint | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
