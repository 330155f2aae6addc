import type { FoundColumn } from '../sql_tables/fitting.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import type { Connection } from './connection.ts';
import { table_facts } from './table.ts';
import type { Table } from './table.ts';

/** A database before a delivery: the columns of its tables, the target, and stages that wait. */
export type Look = {
  columns: Map<string, FoundColumn[]>;
  target: Table | undefined;
  stages: string[];
};

type Line = Table & { table: string; column: string; type: string };

/** Reads what a delivery asks about its target, its receipts and its stages in one statement. */
export async function lookAround(connection: Connection, stages: string): Promise<Look> {
  const { database, table: target } = connection.target;
  const lines = await connection.rows<Line>(
    `SELECT table, name AS column, type, '' AS engine, '' AS engine_full, '' AS sorting_key,
        '' AS storage_policy, CAST([], 'Array(String)') AS views FROM system.columns
      WHERE database = {database:String} AND table IN ({target:String}, {receipts:String})
    UNION ALL SELECT name AS table, '' AS column, '' AS type, ${table_facts} FROM system.tables
      WHERE database = {database:String}
        AND (name = {target:String} OR startsWith(name, {stages:String}))`,
    { database, target, receipts: receipts_table, stages },
  );
  const columns = new Map<string, FoundColumn[]>();
  for (const { table, column, type } of lines)
    if (column !== '') columns.set(table, [...(columns.get(table) ?? []), { name: column, type }]);
  const tables = lines.filter(({ column }) => column === '');
  return {
    columns,
    target: tables.find(({ table }) => table === target),
    stages: tables.map(({ table }) => table).filter((table) => table.startsWith(stages)),
  };
}
