import { DatabaseSync } from 'node:sqlite';
import { JobFailure } from './tables.ts';
import type { Value } from './tables.ts';
import { nothing, tableOf, plain, selectRows, typedRow } from './rows.ts';
import type { StatementWorld, StatementResult, Parameters } from './rows.ts';

/** Does a MERGE: of the rows of one key the last version, where it is newer than the table's. */
export function mergeRows(
  world: StatementWorld,
  _parameters: Parameters,
  found: (string | undefined)[],
): StatementResult {
  const [target, list = '', union = '', order, condition, update, columns, values] = found;
  const table = tableOf(world, target);
  const keyOf = (row: Record<string, unknown>) =>
    `${String(row['team_id'])} ${String(row['distinct_id'])}`;
  const versions =
    order === undefined
      ? []
      : order.split(', ').map((one) => /^`(\w+)` DESC$/.exec(one)?.[1] ?? '');
  const isBefore = (one: Record<string, unknown>, other: Record<string, unknown>) => {
    const version = versions.find((column) => one[column] !== other[column]);
    return version !== undefined && BigInt(String(one[version])) > BigInt(String(other[version]));
  };
  const incoming = new Map<string, Record<string, Value | [string]>>();
  for (const row of selectRows(world, list, union)) {
    const other = incoming.get(keyOf(row));
    if (other === undefined || isBefore(row, other)) incoming.set(keyOf(row), row);
  }
  const updated = update
    ?.split(', ')
    .map((one) => /^`(\w+)` = incoming\.`\1`$/.exec(one)?.[1] ?? '');
  if (
    [...versions, ...(updated ?? [])].includes('') ||
    plain(values)
      .map((one) => one.replace('incoming.', ''))
      .join() !== plain(columns).join()
  )
    throw new JobFailure('invalidQuery', 'Syntax error in MERGE');
  for (const row of incoming.values()) {
    const existing = table.rows.findIndex((one) => keyOf(one) === keyOf(row));
    const old = table.rows[existing];
    if (old === undefined) table.rows.push(typedRow(table, row));
    else if (updated !== undefined && isTrue(condition, versions, { incoming: row, existing: old }))
      table.rows[existing] = { ...old, ...typedRow(table, row) };
  }
  return nothing;
}

/** Asks SQLite for a condition on the versions of two rows, which it spells as BigQuery does. */
function isTrue(
  condition: string | undefined,
  versions: string[],
  rows: Record<'incoming' | 'existing', Record<string, unknown>>,
): boolean {
  if (condition === undefined) return true;
  const sides = Object.entries(rows).map(([side, row]) => {
    const columns = versions.map((version) => {
      const value = row[version] as bigint | string | null | undefined;
      return `${value ?? 'NULL'} AS \`${version}\``;
    });
    return `(SELECT ${columns.join(', ')}) AS ${side}`;
  });
  const database = new DatabaseSync(':memory:');
  try {
    return (
      database.prepare(`SELECT 1 FROM ${sides.join(', ')} WHERE ${condition}`).get() !== undefined
    );
  } catch {
    throw new JobFailure('invalidQuery', 'Syntax error in MERGE');
  } finally {
    database.close();
  }
}
