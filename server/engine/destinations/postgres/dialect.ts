import { Readable } from 'node:stream';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { quoted } from '../sql_tables/layout.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { postgresError } from '../sql_tables/postgres/faults.ts';
import { rowsOf } from '../sql_tables/tab_separated.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import {
  checkTable,
  createTable,
  findColumns,
  lockTable,
  requireSchema,
  tableStatement,
  typeOf,
  whole_types,
} from './table.ts';
import { beginTransaction } from './transaction.ts';

/** Opens PostgreSQL's dialect in a session. */
export function postgresDialect(connection: Connection, config: PostgresConfig): Dialect {
  const target = targetOf(config);
  return {
    target,
    quoted,
    slot: (at) => `$${at}`,
    rows: (statement, values) => connection.rows(statement, values),
    explained: postgresError,
    findColumns: (table) => findColumns(connection, `${quoted(target.schema)}.${quoted(table)}`),
    requireSchema: () => requireSchema(connection, target.schema),
    createTable: (layout) => createTable(connection, tableStatement(target.quoted, layout)),
    lockTable: () => lockTable(connection, target.quoted),
    checkTable: (layout, found) => checkTable(connection, target, layout, found),
    typed: {
      typeOf,
      knows_if_not_exists: true,
      run: (statement) => connection.rows(statement),
      whole_types,
    },
    receipts: {
      create: () =>
        createTable(
          connection,
          `CREATE TABLE IF NOT EXISTS ${target.receipts} (delivery_id uuid PRIMARY KEY,
            batch_export_id uuid NOT NULL, run_id uuid NOT NULL, table_name text NOT NULL,
            records bigint NOT NULL, manifest text NOT NULL,
            delivered_at timestamptz NOT NULL DEFAULT now())`,
        ),
      isDenied: (error) => (error as { code?: unknown }).code === '42501',
    },
    rejected: {
      quoted: target.rejected,
      create: () =>
        createTable(
          connection,
          `CREATE TABLE IF NOT EXISTS ${target.rejected} (delivery_id uuid NOT NULL,
            number integer NOT NULL, batch_export_id uuid NOT NULL, run_id uuid NOT NULL,
            slice integer NOT NULL, code text NOT NULL, reason text NOT NULL, record json NOT NULL,
            rejected_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (delivery_id, number))`,
        ),
      // A deferred constraint would refuse the whole transaction.
      check_now: 'SET CONSTRAINTS ALL IMMEDIATE',
      record: 'record::text',
    },
    textOf: (_column, name) => name,
    sealing: {
      hashOf: (columns) =>
        `hashtextextended(ROW(${columns.map(({ quoted: name }) => name).join(', ')})::text, 0)`,
      instant: (text) => `timestamptz '${text}'`,
      instants: /^timestamp(?:\(6\))? with time zone$/,
    },
    openTexts: async (query) => () =>
      copiedRows(connection, `COPY (${query}) TO STDOUT WITH (FORMAT text, ENCODING 'UTF8')`),
    close: () => connection.close(),
  };
}

/** Reads rows within a transaction, because a pooler may not preserve session settings. */
async function* copiedRows(connection: Connection, statement: string): AsyncGenerator<ValueRow> {
  await beginTransaction(connection);
  yield* rowsOf(Readable.from(connection.copyOut(statement)));
  await connection.end('COMMIT');
}

/** Opens a session with this dialect. */
export async function openPostgres(
  config: PostgresConfig,
  deps: DestinationDeps,
): Promise<Dialect> {
  return postgresDialect(await connect(accessOf(config), deps), config);
}
