import type { Delivery } from '../../model/destination/destination.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import { stagePrefix } from '../sql_tables/stages.ts';
import type { Connection } from './connection.ts';
import { newest_receipt } from './receipts.ts';
import { table_facts } from './table.ts';
import type { Table } from './table.ts';

/**
 * A database before a delivery: the server's version, the columns of its tables, the target,
 * waiting stages, and the stage of an existing delivery.
 */
export type Look = {
  version: string | undefined;
  columns: Map<string, FoundColumn[]>;
  target: Table | undefined;
  stages: string[];
  delivered_stage_id: string | undefined;
};

/** `value` is the name of a column, the version, or the id of a stage. */
type Line = Table & {
  kind: 'version' | 'column' | 'table' | 'receipt';
  table: string;
  value: string;
  type: string;
};

const no_facts = `'' AS engine, '' AS engine_full, '' AS sorting_key, '' AS storage_policy,
  '' AS definition, CAST([], 'Array(String)') AS views`;

/**
 * Reads everything that a delivery needs to know about the server and its tables in one statement.
 */
export async function lookAround(connection: Connection, delivery: Delivery): Promise<Look> {
  const lines = await readLines(connection, delivery);
  const of = (kind: Line['kind']) => lines.filter((line) => line.kind === kind);
  const columns = new Map<string, FoundColumn[]>();
  for (const { table, value, type } of of('column'))
    columns.set(table, [...(columns.get(table) ?? []), { name: value, type }]);
  const prefix = stagePrefix(delivery);
  return {
    version: of('version')[0]?.value,
    columns,
    target: of('table').find(({ table }) => table === connection.target.table),
    stages: of('table').flatMap(({ table }) => (table.startsWith(prefix) ? [table] : [])),
    delivered_stage_id: of('receipt')[0]?.value,
  };
}

/** The table of receipts is missing before the first delivery. */
async function readLines(connection: Connection, delivery: Delivery): Promise<Line[]> {
  const { database, table: target, receipts } = connection.target;
  const parts = [
    `SELECT 'version' AS kind, '' AS table, version() AS value, '' AS type, ${no_facts}`,
    `SELECT 'column' AS kind, table, name AS value, type, ${no_facts} FROM system.columns
      WHERE database = {database:String} AND table IN ({target:String}, {receipts:String})`,
    `SELECT 'table' AS kind, name AS table, '' AS value, '' AS type, ${table_facts}
      FROM system.tables WHERE database = {database:String}
        AND (name = {target:String} OR startsWith(name, {stages:String}))`,
  ];
  const receipt = `SELECT 'receipt' AS kind, '' AS table, toString(stage_id) AS value, '' AS type,
    ${no_facts} FROM (SELECT stage_id FROM ${receipts} ${newest_receipt})`;
  const stages = stagePrefix(delivery);
  const parameters = { database, target, receipts: receipts_table, stages };
  const ask = (some: string[]) =>
    connection.rows<Line>(some.join(' UNION ALL '), { ...parameters, id: delivery.delivery_id });
  return ask([...parts, receipt]).catch((error: unknown) => {
    if ((error as { type?: unknown }).type === 'UNKNOWN_TABLE') return ask(parts);
    throw error;
  });
}
