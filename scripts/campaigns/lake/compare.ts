import type { Row } from './readers.ts';

/** Columns of a table by name, the rows that it is to have, and the column that names a row. */
export type Expected = { columns: string; rows: readonly Row[]; key?: string };

/** The number of compared values, and the first wrong ones. */
type Compared = { values: number; wrong: string[] };

/**
 * Compares the rows of a reader with the expected ones: the columns, the number of rows, and each
 * value. A value that a file does not have is null; a column that a reader leaves out is wrong.
 */
export function compareRows(found: readonly Row[], { columns, rows }: Expected): Compared {
  const wrong: string[] = [];
  const known = new Map(found.map((row) => [row['uuid'], row]));
  if (found.length !== rows.length || known.size !== rows.length)
    wrong.push(`${found.length} rows, ${known.size} different, instead of ${rows.length}`);
  const names = columns.split(' ');
  let values = 0;
  for (const row of rows) {
    const read = known.get(row['uuid']);
    if (read === undefined) {
      wrong.push(`${String(row['uuid'])} is missing`);
      continue;
    }
    for (const column of new Set([...names, ...Object.keys(read)])) {
      values += 1;
      const value = names.includes(column) ? (row[column] ?? null) : undefined;
      if (read[column] !== value)
        wrong.push(
          `${column} of ${String(row['uuid'])} is ${JSON.stringify(read[column])} instead of ` +
            JSON.stringify(value),
        );
    }
  }
  return { values, wrong: wrong.slice(0, 5) };
}

/** Columns of row lineage in a table of version 3. */
const lineage = ['_row_id', '_last_updated_sequence_number'] as const;

/** The id of each row by its key, and the column in which readers find it. */
export type Lineage = { ids: Map<unknown, unknown>; numbers: Map<unknown, unknown> };

/**
 * Takes the lineage out of the rows and compares it: ids are unique, stay with their keys, and are
 * the same for all readers. Returns what is wrong; undefined for a reader that has none.
 */
export function takeLineage(
  rows: Row[],
  key: string,
  { ids, numbers }: Lineage,
): string[] | undefined {
  if (!rows.some((row) => lineage[0] in row)) return undefined;
  const wrong: string[] = [];
  const seen = new Set<unknown>();
  for (const row of rows) {
    const [id, number] = [row[lineage[0]], row[lineage[1]]];
    const name = row[key];
    if (typeof id !== 'string' || typeof number !== 'string' || seen.has(id))
      wrong.push(`the id ${String(id)} of ${String(name)} is none or occurs twice`);
    seen.add(id);
    for (const [known, told] of [
      [ids, id],
      [numbers, number],
    ] as const) {
      if (known.has(name) && known.get(name) !== told)
        wrong.push(`${String(name)} has ${String(told)} instead of ${String(known.get(name))}`);
      known.set(name, told);
    }
    for (const column of lineage) delete row[column];
  }
  return wrong.slice(0, 5);
}
