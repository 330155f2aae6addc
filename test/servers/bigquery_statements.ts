import { JobFailure, checkedRow, safeParseJson, textOf } from './bigquery_tables.ts';
import type { Field, Row, StoredTable, Value } from './bigquery_tables.ts';

/** A dataset that statements work in: its project, its name, its tables. */
export type StatementWorld = { project: string; dataset: string; tables: Map<string, StoredTable> };

/** What a statement gives: columns and rows, none for one that only changes. */
export type StatementResult = { names: string[]; rows: Value[][] };

type Parameters = Record<string, Value>;

const name = '`[^`]+`\\.`[^`]+`\\.`[^`]+`';
const nothing: StatementResult = { names: [], rows: [] };

/**
 * A statement that is understood, and what it does. Everything else is refused, as a statement with
 * a fault would be.
 */
type Form = {
  pattern: RegExp;
  run(world: StatementWorld, parameters: Parameters, found: string[]): StatementResult;
};

const forms: Form[] = [
  {
    pattern: new RegExp(`^INSERT INTO (${name}) \\((.+)\\)\\nSELECT (.+)\\nFROM \\((.+)\\)$`, 's'),
    run: insertRows,
  },
  {
    pattern: new RegExp(
      `^INSERT INTO (${name}) \\((.+)\\)\\nVALUES \\((.+), CURRENT_TIMESTAMP\\(\\)\\)$`,
    ),
    run: insertValues,
  },
  { pattern: new RegExp(`^INSERT INTO (${name})\\nSELECT \\* FROM (${name})$`), run: copyRows },
  {
    pattern: new RegExp(
      `^MERGE INTO (${name}) AS existing\\nUSING \\(SELECT (.+)\\nFROM \\((.+)\\)\\nWHERE ` +
        `TRUE QUALIFY ROW_NUMBER\\(\\) OVER \\(PARTITION BY \`team_id\`, \`distinct_id\`(?: ` +
        'ORDER BY (.+))?\\) = 1\\) AS incoming\\n' +
        'ON existing\\.`team_id` = incoming\\.`team_id` AND existing\\.`distinct_id` = ' +
        'incoming\\.`distinct_id`' +
        '(?:\\nWHEN MATCHED(?: AND \\((.+)\\))? THEN UPDATE SET (.+))?\\nWHEN NOT MATCHED ' +
        'THEN INSERT \\((.+)\\) VALUES \\((.+)\\)$',
      's',
    ),
    run: mergeRows,
  },
  {
    pattern: new RegExp(`^UPDATE (${name})\\nSET (.+)\\nWHERE \`(\\w+)\` = @(\\w+)$`),
    run: updateRows,
  },
  {
    pattern: new RegExp(
      `^SELECT \`(\\w+)\`\\nFROM (${name})\\nWHERE \`(\\w+)\` = @(\\w+)(?:\\nLIMIT (\\d+))?$`,
    ),
    run: selectColumn,
  },
  {
    pattern: new RegExp(
      `^SELECT ((?:CAST|FORMAT_TIMESTAMP|TO_JSON_STRING)\\(.+)\\nFROM (${name})(?:\\nWHERE ` +
        `\`team_id\` = (\\d+))?$`,
    ),
    run: selectTexts,
  },
];

/** Runs a statement, or several as one transaction: then all changes are made or none. */
export function runScript(
  world: StatementWorld,
  text: string,
  parameters: Parameters,
): StatementResult {
  const script = /^BEGIN TRANSACTION;\n(.+);\nCOMMIT TRANSACTION;$/s.exec(text)?.[1];
  if (script === undefined) return runStatement(world, text, parameters);
  const draft = new Map(
    [...world.tables].map(([key, table]) => [key, { ...table, rows: [...table.rows] }]),
  );
  for (const statement of script.split(';\n'))
    runStatement({ ...world, tables: draft }, statement, parameters);
  for (const [key, table] of draft) world.tables.get(key)!.rows = table.rows;
  return nothing;
}

function runStatement(
  world: StatementWorld,
  text: string,
  parameters: Parameters,
): StatementResult {
  for (const { pattern, run } of forms) {
    const found = pattern.exec(text);
    if (found !== null) return run(world, parameters, found.slice(1));
  }
  throw new JobFailure('invalidQuery', `Syntax error: ${text.slice(0, 200)}`);
}

function tableOf(world: StatementWorld, quotedName = ''): StoredTable {
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

const plain = (list = '') => list.split(', ').map((one) => one.replaceAll('`', '').toLowerCase());

function fieldOf({ fields }: StoredTable, column: string): Field {
  const field = fields.find((one) => one.name.toLowerCase() === column.toLowerCase());
  if (field === undefined) throw new JobFailure('invalidQuery', `Unrecognized name: ${column}`);
  return field;
}

/**
 * The rows of a list of stage tables, with the values that a SELECT list makes of them. JSON values
 * are told from text by an array around them.
 */
function selectRows(
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

/** BigQuery takes text into no JSON column, and JSON into no text column. */
function typedRow(table: StoredTable, row: Record<string, Value | [string]>): Row {
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

function insertRows(
  world: StatementWorld,
  _parameters: Parameters,
  [target, columns, list, union]: string[],
): StatementResult {
  const table = tableOf(world, target);
  const rows = selectRows(world, list ?? '', union ?? '');
  const names = plain(columns);
  table.rows.push(
    ...rows.map((row) =>
      typedRow(
        table,
        Object.fromEntries(Object.values(row).map((value, index) => [names[index] ?? '', value])),
      ),
    ),
  );
  return nothing;
}

function insertValues(
  world: StatementWorld,
  parameters: Parameters,
  [target, columns, list]: string[],
): StatementResult {
  const table = tableOf(world, target);
  const names = plain(columns);
  const given = (list ?? '').split(', ').map((one) => parameterOf(parameters, one));
  const values = [...given, '2026-01-01T00:00:00.000000Z'];
  table.rows.push(
    typedRow(
      table,
      Object.fromEntries(names.map((column, index) => [column, values[index] ?? null])),
    ),
  );
  return nothing;
}

function parameterOf(parameters: Parameters, text = ''): Value {
  const value = parameters[text.replace('@', '')];
  if (value === undefined)
    throw new JobFailure('invalidQuery', `Query parameter '${text}' not found`);
  return value;
}

function copyRows(
  world: StatementWorld,
  _parameters: Parameters,
  [target, source]: string[],
): StatementResult {
  tableOf(world, target).rows.push(...tableOf(world, source).rows.map((row) => ({ ...row })));
  return nothing;
}

function mergeRows(
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

function updateRows(
  world: StatementWorld,
  parameters: Parameters,
  [target, sets, key = '', parameter]: string[],
): StatementResult {
  const table = tableOf(world, target);
  const changes = Object.fromEntries(
    (sets ?? '')
      .split(', ')
      .map((set) => [
        /^`(\w+)` = /.exec(set)?.[1] ?? '',
        parameterOf(parameters, set.split(' = ')[1]),
      ]),
  );
  table.rows = table.rows.map((row) =>
    row[key] === parameterOf(parameters, parameter)
      ? checkedRow(table.fields, { ...row, ...changes })
      : row,
  );
  return nothing;
}

function selectColumn(
  world: StatementWorld,
  parameters: Parameters,
  [column = '', source, key = '', parameter, limit]: (string | undefined)[],
): StatementResult {
  const rows = tableOf(world, source).rows.filter(
    (row) => row[key] === parameterOf(parameters, parameter),
  );
  return {
    names: [column],
    rows: rows.slice(0, Number(limit ?? rows.length)).map((row) => [row[column] ?? null]),
  };
}

/**
 * The rows with every value as text: instants by their format, JSON by its function, all others by
 * a cast.
 */
function selectTexts(
  world: StatementWorld,
  _parameters: Parameters,
  [list = '', source, team]: (string | undefined)[],
): StatementResult {
  const table = tableOf(world, source);
  const value =
    /(?:FORMAT_TIMESTAMP\('%F %H:%M:%E6S', `([^`]+)`, 'UTC'\)|CAST\(`([^`]+)` AS STRING\)|TO_JSON_STRING\(`([^`]+)`\)) AS `(\w+)`(?:, |$)/gy;
  const values = [...list.matchAll(value)];
  if (values.map(([text]) => text).join('') !== list)
    throw new JobFailure('invalidQuery', `Syntax error in ${list}`);
  const fields = values.map(([, instant, column, json]) => ({
    field: fieldOf(table, instant ?? column ?? json ?? ''),
    read_as: instant !== undefined ? 'TIMESTAMP' : json !== undefined ? 'JSON' : 'STRING',
  }));
  const rows = table.rows.filter((row) => team === undefined || row['team_id'] === BigInt(team));
  return {
    names: values.map(([, , , , alias = '']) => alias),
    rows: rows.map((row) =>
      fields.map(({ field, read_as }) =>
        textOf(field, row[field.name.toLowerCase()] ?? null, read_as),
      ),
    ),
  };
}
