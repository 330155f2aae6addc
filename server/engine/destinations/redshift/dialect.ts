import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { requireNoneMissing } from '../sql_tables/fitting.ts';
import { quoted } from '../sql_tables/layout.ts';
import { requireFilledKeys } from '../sql_tables/merging.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { redshiftError } from './faults.ts';
import {
  createTable,
  digestOf,
  findColumns,
  receiptsStatement,
  rejectedStatement,
  requireSchema,
  tableStatement,
  textOf,
  typeOf,
  varchar_bytes_max,
  whole_types,
} from './table.ts';

const batch_rows = 200;

const sealing: Dialect['sealing'] = {
  hashOf: (columns) => {
    const digests = columns.map(({ quoted: name, type }) => digestOf(name, type));
    return `STRTOL(SUBSTRING(MD5(${digests.join(' || ')}), 1, 15), 16)`;
  },
  instant: (text) => `CAST('${text.slice(0, 26).replace('T', ' ')}+00' AS timestamptz)`,
  instants: /^timestamp(?:\(6\))? with time zone$/,
};

/** Opens Redshift's dialect in a session. */
export function redshiftDialect(connection: Connection, config: RedshiftConfig): Dialect {
  const target = targetOf(config);
  return {
    target,
    quoted,
    slot: (at) => `$${at}`,
    rows: (statement, values) => connection.rows(statement, values),
    explained: redshiftError,
    findColumns: (table) => findColumns(connection, target.schema, table),
    requireSchema: () => requireSchema(connection, target.schema),
    createTable: (layout) => createTable(connection, tableStatement(target.quoted, config, layout)),
    checkTable: async (layout, found) => {
      const { columns } = layout;
      const names = new Set(found.map(({ name }) => name.toLowerCase()));
      const missing = columns
        .filter(({ name }) => !names.has(name.toLowerCase()))
        .map((column) => `${column.name} ${typeOf(config, column)}`);
      requireNoneMissing(target.name, missing);
      requireFilledKeys(target.name, layout, found);
      return undefined;
    },
    typed: {
      typeOf: (column) => typeOf(config, column),
      one_by_one: true,
      run: (statement) => connection.rows(statement),
      whole_types,
    },
    receipts: {
      create: () => createTable(connection, receiptsStatement(target.receipts)),
      order: 'ORDER BY part',
    },
    rejected: {
      quoted: target.rejected,
      create: () => createTable(connection, rejectedStatement(target.rejected)),
    },
    text_bytes_max: varchar_bytes_max,
    textOf: (_column, name, type) => textOf(name, type),
    sealing,
    openTexts: async (query) =>
      async function* rows() {
        await connection.rows('BEGIN');
        for await (const batch of connection.batches<Record<string, string | null>>(
          query,
          batch_rows,
        ))
          for (const row of batch) yield Object.values(row);
        await connection.rows('ROLLBACK');
      },
    close: () => connection.close(),
  };
}

/** Opens a session with this dialect. */
export async function openRedshift(
  config: RedshiftConfig,
  deps: DestinationDeps,
): Promise<Dialect> {
  return redshiftDialect(await connect(accessOf(config), deps), config);
}
