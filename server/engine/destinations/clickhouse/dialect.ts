import type { DestinationDeps } from '../../model/destination/destination.ts';
import { identifier } from '../formats/expression.ts';
import type { ColumnType } from '../../model/models/column.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { clickHouseError } from './faults.ts';
import { checkTable, findColumns, tableStatement, typeOf } from './table.ts';

/** Types that store every value of a typed column completely, including NULL. */
const whole_types: Record<ColumnType, RegExp> = {
  uuid: /^Nullable\(UUID\)$/,
  text: /^(?:LowCardinality\()?Nullable\(String\)\)?$/,
  json: /^(?:LowCardinality\()?Nullable\(String\)\)?$/,
  timestamp: /^Nullable\(DateTime64\([6-9]\b.*\)\)$/,
  integer: /^Nullable\(Int64\)$/,
  float: /^Nullable\(Float64\)$/,
  boolean: /^Nullable\(Bool\)$/,
  date: /^Nullable\(Date32\)$/,
  decimal: /^Nullable\(Decimal\(38, 9\)\)$/,
};

/** ClickHouse's dialect, for a server. It has no sessions and no transactions. */
export function clickHouseDialect(connection: Connection): Dialect {
  const { target } = connection;
  return {
    target,
    quoted: identifier,
    slot: (at) => `{p${at}:String}`,
    rows: (statement, values = []) =>
      connection.rows(
        statement,
        Object.fromEntries(values.map((value, index) => [`p${index + 1}`, String(value)])),
      ),
    explained: clickHouseError,
    findColumns: (table) => findColumns(connection, table),
    createTable: (layout) => connection.command(tableStatement(target.quoted, layout)),
    checkTable: async (layout, found) => {
      await checkTable(connection, layout, found);
      return undefined;
    },
    typed: {
      typeOf: (column) => typeOf(column),
      knows_if_not_exists: true,
      run: (statement) => connection.command(statement),
      whole_types,
    },
    receipts: {
      create: () =>
        connection.command(
          `CREATE TABLE IF NOT EXISTS ${target.receipts} (delivery_id UUID, stage_id UUID,
            batch_export_id UUID, run_id UUID, table_name String, records UInt64, manifest String,
            written_at DateTime64(6, 'UTC') DEFAULT now64(6))
            ENGINE = MergeTree ORDER BY delivery_id`,
        ),
      // The other rows record stages that were about to be shown.
      condition: "manifest != ''",
      order: 'ORDER BY written_at DESC LIMIT 1',
    },
    textOf: ({ type: wanted }, name, type = 'DateTime64') =>
      wanted === 'timestamp' && type.includes('DateTime')
        ? `toString(toTimeZone(${name}, 'UTC'))`
        : `toString(${name})`,
    sealing: {
      hashOf: (columns) =>
        `sipHash64(toString(tuple(${columns.map(({ quoted }) => quoted).join(', ')})))`,
      instant: (text) => `toDateTime64('${text.slice(0, 26).replace('T', ' ')}', 6, 'UTC')`,
      instants: /^(?:Nullable\()?DateTime64\([6-9]/,
    },
    merged: `${target.quoted} FINAL`,
    openTexts: async (query) => () => connection.stream(query),
    close: () => connection.close(),
  };
}

/** Connects to a server and opens its dialect. */
export async function reachClickHouse(
  config: ClickHouseConfig,
  deps: DestinationDeps,
): Promise<Dialect> {
  return clickHouseDialect(await connect(config, deps));
}
