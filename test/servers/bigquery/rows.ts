import { JobFailure, checkedRow, safeParseJson } from './tables.ts';
import type { Field, Row, StoredTable, Value } from './tables.ts';

/** A dataset that statements use: its project, its name, its tables. */
export type StatementWorld = { project: string; dataset: string; tables: Map<string, StoredTable> };

/** The result of a statement: columns and rows, none for one that only changes rows. */
export type StatementResult = { names: string[]; rows: Value[][] };

/** The named parameters of a statement. */
export type Parameters = Record<string, Value>;

/** The pattern of a table's full name. */
export const name = '`[^`]+`\\.`[^`]+`\\.`[^`]+`';

/** The result of a statement that only changes. */
export const nothing: StatementResult = { names: [], rows: [] };

/** Returns the table of a full name. Refuses an unknown one. */
export function tableOf(world: StatementWorld, quotedName = ''): StoredTable {
  const [project, dataset, table = ''] = quotedName.slice(1, -1).split('`.`');
  if (project !== world.project) throw new JobFailure('notFound', `Not found: Project ${project}`);
  if (dataset !== world.dataset)
    throw new JobFailure('notFound', `Not found: Dataset ${project}:${dataset}`);
  const found = world.tables.get(table);
  if (found === undefined)
    throw new JobFailure(
      'notFound',
      `Not found: Table ${project}:${dataset}.${table} was not found in location EU`,
    );
  return found;
}

/** Returns the names of a list, without quotes and in lower case. */
export const plain = (list = '') =>
  list.split(', ').map((one) => one.replaceAll('`', '').toLowerCase());

/** Returns the field of a column. Refuses if the table lacks it. */
export function fieldOf({ fields }: StoredTable, column: string): Field {
  const field = fields.find((one) => one.name.toLowerCase() === column.toLowerCase());
  if (field === undefined) throw new JobFailure('invalidQuery', `Unrecognized name: ${column}`);
  return field;
}

/**
 * Returns the rows of a list of stage tables, with the values of a SELECT list. An array around
 * JSON values separates them from text.
 */
export function selectRows(
  world: StatementWorld,
  list: string,
  union: string,
): Record<string, Value | [string]>[] {
  const value =
    /(?:IF\(`(\w+)` IS NULL, NULL, IFNULL\(SAFE\.PARSE_JSON\(`\1`\), TO_JSON\(`\1`\)\)\) AS `\1`|`(\w+)`)(?:, |$)/gy;
  const values = [...list.matchAll(value)];
  if (values.map(([text]) => text).join('') !== list)
    throw new JobFailure('invalidQuery', `Syntax error in ${list}`);
  return union.split('\nUNION ALL ').flatMap((select) => {
    const table = tableOf(world, new RegExp(`^SELECT \\* FROM (${name})$`).exec(select)?.[1]);
    return table.rows.map((row) =>
      Object.fromEntries(
        values.map(([, json, column]): [string, Value | [string]] => {
          const key = fieldOf(table, json ?? column ?? '').name.toLowerCase();
          const stored = row[key] ?? null;
          return [
            key,
            json === undefined || stored === null
              ? stored
              : [safeParseJson(String(stored)) ?? JSON.stringify(stored)],
          ];
        }),
      ),
    );
  });
}

/** BigQuery accepts no text in a JSON column, and no JSON in a text column. */
export function typedRow(table: StoredTable, row: Record<string, Value | [string]>): Row {
  const values = Object.entries(row).map(([column, value]): [string, Value] => {
    const isJson = fieldOf(table, column).type === 'JSON';
    if (value !== null && Array.isArray(value) !== isJson)
      throw new JobFailure(
        'invalidQuery',
        `Value of another type cannot be inserted into column ${column}`,
      );
    return [column, Array.isArray(value) ? value[0] : value];
  });
  return checkedRow(table.fields, Object.fromEntries(values));
}

/** Returns the value of `@name`. Refuses a missing one. */
export function parameterOf(parameters: Parameters, text = ''): Value {
  const value = parameters[text.replace('@', '')];
  if (value === undefined)
    throw new JobFailure('invalidQuery', `Query parameter '${text}' not found`);
  return value;
}
