import type { Delivery } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { isGeneration } from '../sql_tables/generations.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { mergeWords } from '../sql_tables/merging.ts';
import type { Merge } from '../sql_tables/merging.ts';
import { inDataset, quoted, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';

/**
 * The sources of shown rows: the stage tables in the order of the slices, and the columns of the
 * target with the type JSON.
 */
export type Staged = { tables: string[]; json_columns: ReadonlySet<string> };

/**
 * Rows and receipt in one multi-statement transaction: readers see both or neither, and BigQuery
 * rolls a script back that ends before its COMMIT. Parameters: `delivery_id`, `batch_export_id`,
 * `run_id`, `table_name`, `records`, `manifest`, and the instant of a generation. Without stage
 * tables, it only writes the receipt.
 */
export function showScript(
  config: BigQueryConfig,
  layout: Layout & Pick<Delivery, 'generation'>,
  staged: Staged,
): string {
  const merge = mergeWords(layout, { came, there, tie }, quoted);
  const rows =
    staged.tables.length === 0
      ? []
      : [
          merge === undefined
            ? insertStatement(config, layout, staged)
            : mergeStatement(config, layout, staged, merge),
        ];
  const before = isGeneration(layout) ? replaceStatements(config) : [];
  return transaction([...before, ...rows, receiptStatement(config)]);
}

/**
 * Empties the table, unless it has a later generation: then the script ends with an error. BigQuery
 * ends one of two concurrent scripts, because both change the same table.
 */
function replaceStatements(config: BigQueryConfig): string[] {
  const { quoted: table, receipts } = targetOf(config);
  const later =
    `SELECT 1 FROM ${receipts} WHERE table_name = @table_name ` +
    `AND JSON_VALUE(manifest, '$.generation') > @generation`;
  return [
    `ASSERT NOT EXISTS (${later}) AS 'The table has a later generation'`,
    `TRUNCATE TABLE ${table}`,
    `DELETE FROM ${receipts} WHERE table_name = @table_name AND batch_export_id = @batch_export_id`,
  ];
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

const came = (name: string) => `incoming.${quoted(name)}`;
const there = (name: string) => `existing.${quoted(name)}`;

/** Returns the text of all values as a tie-breaker, because JSON has no order. */
function tie(names: string[], value: (name: string) => string): string {
  return names.map((name) => `TO_JSON_STRING(${value(name)})`).join(" || ',' || ");
}

/**
 * Merges rows: only a greater row replaces a row of the table. Of several staged rows of one key,
 * only the greatest counts: a MERGE with two would fail.
 */
function mergeStatement(
  config: BigQueryConfig,
  layout: Layout,
  staged: Staged,
  { key, changed, order, newer }: Merge,
): string {
  const rank = `ROW_NUMBER() OVER (PARTITION BY ${key.map(quoted).join(', ')} ORDER BY ${order})`;
  const update = changed.map((name) => `${quoted(name)} = ${came(name)}`).join(', ');
  return [
    `MERGE INTO ${targetOf(config).quoted} AS existing`,
    // Ranks the stored values: JSON in another notation is the same there.
    `USING (SELECT * FROM (SELECT ${valuesOf(layout.columns, staged)}\nFROM ` +
      `${unionOf(config, staged)})\nWHERE TRUE QUALIFY ${rank} = 1) AS incoming`,
    `ON ${key.map((name) => `${there(name)} = ${came(name)}`).join(' AND ')}`,
    ...(changed.length === 0 ? [] : [`WHEN MATCHED AND (${newer}) THEN UPDATE SET ${update}`]),
    `WHEN NOT MATCHED THEN INSERT (${namesOf(layout.columns)}) VALUES ` +
      `(${layout.columns.map(({ name }) => came(name)).join(', ')})`,
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
 * JSON that the type cannot store without loss (numbers beyond a double, more than 500 levels)
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
