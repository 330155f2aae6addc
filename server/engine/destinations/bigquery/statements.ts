import type { Column } from '../../model/models/column.ts';
import { isMerged, mergeKey, newerCondition, versionColumns } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { inDataset, quoted, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';

/**
 * The sources of shown rows: the stage tables in the order of the slices, and the columns of the
 * target that have the type JSON.
 */
export type Staged = { tables: string[]; json_columns: ReadonlySet<string> };

/**
 * Rows and receipt in one multi-statement transaction: readers see both or neither, and a script
 * that ends before its COMMIT is rolled back by BigQuery. Parameters: `delivery_id`,
 * `batch_export_id`, `run_id`, `table_name`, `records`, `manifest`. Without stage tables there is
 * the receipt alone.
 */
export function showScript(config: BigQueryConfig, layout: Layout, staged: Staged): string {
  const rows =
    staged.tables.length === 0
      ? []
      : [
          isMerged(layout)
            ? mergeStatement(config, layout, staged)
            : insertStatement(config, layout, staged),
        ];
  return transaction([...rows, receiptStatement(config)]);
}

function transaction(statements: string[]): string {
  return ['BEGIN TRANSACTION', ...statements, 'COMMIT TRANSACTION']
    .map((statement) => `${statement};`)
    .join('\n');
}

function insertStatement(config: BigQueryConfig, { columns }: Layout, staged: Staged): string {
  return (
    `INSERT INTO ${targetOf(config).quoted} (${namesOf(columns)})\n` +
    `SELECT ${valuesOf(columns, staged)}\nFROM ${unionOf(config, staged)}`
  );
}

/**
 * Merges persons: a row of the table is replaced only by one with higher versions; without versions
 * in the export the newer delivery wins. Of several rows of one key in the stage only the newest
 * counts: a MERGE with two would fail.
 */
function mergeStatement(config: BigQueryConfig, layout: Layout, staged: Staged): string {
  const versions = versionColumns(layout).map(quoted);
  const changed = layout.columns
    .map((column) => column.name)
    .filter((name) => !mergeKey(layout).includes(name));
  const order =
    versions.length === 0
      ? ''
      : ` ORDER BY ${versions.map((version) => `${version} DESC`).join(', ')}`;
  const key = mergeKey(layout).map(quoted).join(', ');
  const rank = `ROW_NUMBER() OVER (PARTITION BY ${key}${order})`;
  const newer = newerCondition(versions, {
    came: (version) => `incoming.${version}`,
    there: (version) => `existing.${version}`,
  });
  const update = changed.map((name) => `${quoted(name)} = incoming.${quoted(name)}`).join(', ');
  return [
    `MERGE INTO ${targetOf(config).quoted} AS existing`,
    `USING (SELECT ${valuesOf(layout.columns, staged)}\nFROM ` +
      `${unionOf(config, staged)}\nWHERE TRUE QUALIFY ${rank} = 1) AS incoming`,
    'ON ' +
      mergeKey(layout)
        .map((name) => `existing.${quoted(name)} = incoming.${quoted(name)}`)
        .join(' AND '),
    ...(changed.length === 0
      ? []
      : [`WHEN MATCHED${newer === undefined ? '' : ` AND (${newer})`} THEN UPDATE SET ${update}`]),
    `WHEN NOT MATCHED THEN INSERT (${namesOf(layout.columns)}) VALUES ` +
      `(${layout.columns.map((column) => `incoming.${quoted(column.name)}`).join(', ')})`,
  ].join('\n');
}

function namesOf(columns: Column[]): string {
  return columns.map((column) => quoted(column.name)).join(', ');
}

function valuesOf(columns: Column[], { json_columns }: Staged): string {
  return columns
    .map(({ name }) =>
      json_columns.has(name) ? `${jsonValue(quoted(name))} AS ${quoted(name)}` : quoted(name),
    )
    .join(', ');
}

/**
 * JSON that the type cannot hold without loss (numbers beyond a double, more than 500 levels)
 * becomes a JSON string with the same text; SQL's NULL stays NULL.
 */
function jsonValue(text: string): string {
  return `IF(${text} IS NULL, NULL, IFNULL(SAFE.PARSE_JSON(${text}), TO_JSON(${text})))`;
}

function unionOf(config: BigQueryConfig, { tables }: Staged): string {
  const selects = tables.map((table) => `SELECT * FROM ${inDataset(config, table)}`);
  return `(${selects.join('\nUNION ALL ')})`;
}

function receiptStatement(config: BigQueryConfig): string {
  const names = ['delivery_id', 'batch_export_id', 'run_id', 'table_name', 'records', 'manifest'];
  return (
    `INSERT INTO ${targetOf(config).receipts} ` +
    `(${[...names, 'delivered_at'].map(quoted).join(', ')})\n` +
    `VALUES (${names.map((name) => `@${name}`).join(', ')}, CURRENT_TIMESTAMP())`
  );
}

/** Doubles the rows of a table, as a transaction. */
export function doubleScript(config: BigQueryConfig, table: string): string {
  const name = inDataset(config, table);
  return transaction([`INSERT INTO ${name}\nSELECT * FROM ${name}`]);
}
