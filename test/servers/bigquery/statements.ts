import { JobFailure, checkedRow, textOf } from './tables.ts';
import {
  name,
  nothing,
  tableOf,
  plain,
  fieldOf,
  selectRows,
  typedRow,
  parameterOf,
} from './rows.ts';
import type { StatementWorld, StatementResult, Parameters } from './rows.ts';
import { mergeRows } from './merge.ts';

/** A known statement, and its effect. All others are refused, like a faulty statement. */
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
      `^MERGE INTO (${name}) AS existing\\nUSING \\(SELECT \\* FROM \\(SELECT (.+)\\nFROM ` +
        '\\((.+)\\)\\)\\nWHERE TRUE QUALIFY ROW_NUMBER\\(\\) OVER \\(PARTITION BY (.+?) ORDER BY ' +
        '(.+)\\) = 1\\) AS incoming\\nON (.+?)' +
        '(?:\\nWHEN MATCHED AND \\((.+)\\) THEN UPDATE SET (.+))?\\nWHEN NOT MATCHED ' +
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
      `^SELECT (?:DISTINCT )?\`(\\w+)\`\\nFROM (${name})\\nWHERE \`(\\w+)\` = @(\\w+)` +
        `(?: AND \`(\\w+)\` = @(\\w+))?(?: AND \`\\w+\` LIKE '%(.+)%')?(?:\\nLIMIT (\\d+))?$`,
    ),
    run: selectColumn,
  },
  {
    pattern: new RegExp(
      `^ASSERT NOT EXISTS \\(SELECT 1 FROM (${name}) WHERE table_name = @table_name AND ` +
        `JSON_VALUE\\(manifest, '\\$\\.generation'\\) > @generation\\) AS '(.+)'$`,
    ),
    run: assertNewest,
  },
  { pattern: new RegExp(`^TRUNCATE TABLE (${name})$`), run: truncate },
  {
    pattern: new RegExp(
      `^DELETE FROM (${name}) WHERE table_name = @table_name AND ` +
        'batch_export_id = @batch_export_id$',
    ),
    run: deleteReceipts,
  },
  {
    pattern: new RegExp(`^DELETE FROM (${name}) WHERE 1 = 0$`),
    run: (world, _parameters, [table]) => {
      tableOf(world, table);
      return nothing;
    },
  },
  {
    pattern: new RegExp(
      `^SELECT ((?:CAST|FORMAT_TIMESTAMP|TO_JSON_STRING)\\(.+)\\nFROM (${name})(?:\\nWHERE ` +
        `\`team_id\` = (\\d+))?$`,
    ),
    run: selectTexts,
  },
];

/** Runs a statement, or several as one transaction with all changes or none. */
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

function copyRows(
  world: StatementWorld,
  _parameters: Parameters,
  [target, source]: string[],
): StatementResult {
  tableOf(world, target).rows.push(...tableOf(world, source).rows.map((row) => ({ ...row })));
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

function assertNewest(
  world: StatementWorld,
  parameters: Parameters,
  [source, told = '']: string[],
): StatementResult {
  const generation = String(parameterOf(parameters, '@generation'));
  const isLater = tableOf(world, source).rows.some(
    (row) =>
      row['table_name'] === parameterOf(parameters, '@table_name') &&
      String(JSON.parse(String(row['manifest'])).generation ?? '') > generation,
  );
  if (isLater) throw new JobFailure('invalidQuery', told);
  return nothing;
}

function truncate(
  world: StatementWorld,
  _parameters: Parameters,
  [target]: string[],
): StatementResult {
  tableOf(world, target).rows = [];
  return nothing;
}

function deleteReceipts(
  world: StatementWorld,
  parameters: Parameters,
  [target]: string[],
): StatementResult {
  const table = tableOf(world, target);
  table.rows = table.rows.filter((row) =>
    ['table_name', 'batch_export_id'].some(
      (key) => row[key] !== parameterOf(parameters, `@${key}`),
    ),
  );
  return nothing;
}

function selectColumn(
  world: StatementWorld,
  parameters: Parameters,
  [column = '', source, key = '', parameter, other, second, part, limit]: (string | undefined)[],
): StatementResult {
  const rows = tableOf(world, source).rows.filter(
    (row) =>
      row[key] === parameterOf(parameters, parameter) &&
      (other === undefined || row[other] === parameterOf(parameters, second)) &&
      (part === undefined || String(row[column]).includes(part)),
  );
  return {
    names: [column],
    rows: rows.slice(0, Number(limit ?? rows.length)).map((row) => [row[column] ?? null]),
  };
}

/**
 * Returns the rows with every value as text: instants by their format, JSON by its function, all
 * others by a cast.
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
