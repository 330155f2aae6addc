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
  const compared = condition
    ?.split(/(?<=> existing\.`\w+`) OR /)
    .map(
      (one) =>
        /^existing\.`(\w+)` IS NULL OR incoming\.`\1` > existing\.`\1`$/.exec(one)?.[1] ?? '',
    );
  const updated = update
    ?.split(', ')
    .map((one) => /^`(\w+)` = incoming\.`\1`$/.exec(one)?.[1] ?? '');
  if (
    [...versions, ...(compared ?? []), ...(updated ?? [])].includes('') ||
    plain(values)
      .map((one) => one.replace('incoming.', ''))
      .join() !== plain(columns).join()
  )
    throw new JobFailure('invalidQuery', 'Syntax error in MERGE');
  for (const row of incoming.values()) {
    const existing = table.rows.findIndex((one) => keyOf(one) === keyOf(row));
    const old = table.rows[existing];
    if (old === undefined) table.rows.push(typedRow(table, row));
    else if (
      updated !== undefined &&
      (compared ?? [undefined]).some(
        (one) =>
          one === undefined ||
          old[one] === null ||
          BigInt(String(row[one])) > BigInt(String(old[one])),
      )
    )
      table.rows[existing] = { ...old, ...typedRow(table, row) };
  }
  return nothing;
}
