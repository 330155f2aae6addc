import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import { rejectedName } from '../sql_tables/target.ts';
import { quoted } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { mySqlError } from './faults.ts';
import {
  checkTable,
  findColumns,
  requireInnoDb,
  tableStatement,
  typeOf,
  whole_types,
} from './table.ts';

const own_table = 'ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin';

/**
 * Opens MySQL's dialect in a session. Statements that create a table run outside a transaction,
 * which they would end.
 */
export function mySqlDialect(connection: Connection): Dialect {
  const { target } = connection;
  return {
    target,
    quoted,
    slot: () => '?',
    rows: (statement, values) => connection.rows(statement, values),
    explained: mySqlError,
    findColumns: (table) => findColumns(connection, table),
    createTable: async (layout) =>
      void (await connection.run(await tableStatement(connection, target.quoted, layout))),
    checkTable: async (layout, found) => {
      for (const table of [target.table, receipts_table]) await requireInnoDb(connection, table);
      return checkTable(connection, layout, found);
    },
    typed: {
      typeOf,
      run: (statement) => connection.run(statement),
      whole_types,
    },
    receipts: {
      create: async () =>
        void (await connection.run(
          `CREATE TABLE IF NOT EXISTS ${target.receipts} (delivery_id char(36) PRIMARY KEY,
            batch_export_id char(36) NOT NULL, run_id char(36) NOT NULL,
            table_name varchar(200) NOT NULL, records bigint NOT NULL, manifest longtext NOT NULL,
            delivered_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)) ${own_table}`,
        )),
      isDenied: (error) => (error as { code?: unknown }).code === 'ER_TABLEACCESS_DENIED_ERROR',
    },
    rejected: {
      quoted: target.rejected,
      create: async () =>
        void (await connection.run(
          `CREATE TABLE IF NOT EXISTS ${target.rejected} (delivery_id char(36) NOT NULL,
            number integer NOT NULL, batch_export_id char(36) NOT NULL, run_id char(36) NOT NULL,
            slice integer NOT NULL, code varchar(100) NOT NULL, reason text NOT NULL,
            record longtext NOT NULL,
            rejected_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
            PRIMARY KEY (delivery_id, number)) ${own_table}`,
        )),
      requireKind: () => requireInnoDb(connection, rejectedName(target.table)),
    },
    textOf: (_column, name) => `CAST(${name} AS CHAR CHARACTER SET utf8mb4)`,
    sealing,
    openTexts: async (query) =>
      async function* rows() {
        for await (const row of connection.stream<Record<string, string | null>>(query))
          yield Object.values(row);
      },
    close: () => connection.close(),
  };
}

const sealing: Dialect['sealing'] = {
  hashOf: (columns) => {
    const texts = columns.map(({ quoted: name }) => `coalesce(concat('=', ${name}), '-')`);
    const hash = `left(md5(concat_ws(char(31), ${texts.join(', ')})), 15)`;
    return `cast(conv(${hash}, 16, 10) AS unsigned)`;
  },
  instant: (text) => `'${text.slice(0, 26).replace('T', ' ')}'`,
  instants: /^datetime\(6\)$/,
};

/** Opens a session with this dialect. */
export async function openMySql(config: MySqlConfig, deps: DestinationDeps): Promise<Dialect> {
  return mySqlDialect(await connect(config, deps));
}
