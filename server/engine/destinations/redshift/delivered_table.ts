import type { ValueRow } from '../../model/destination/content_source.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { DeliveredTable, TableOfReceipts } from '../sql_tables/delivered_table.ts';
import { isMerged, quoted } from '../sql_tables/layout.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { connect } from '../sql_tables/postgres_connection.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { columnTypes, varchar_bytes_max } from './table.ts';

const batch_rows = 200;

/** Opens the table, and that of the receipts, to be read again. */
export async function openRedshiftTable(
  config: RedshiftConfig,
  deps: DestinationDeps,
): Promise<DeliveredTable> {
  const connection = await connect(accessOf(config), deps);
  const target = targetOf(config);
  return {
    name: target.name,
    receipts: receiptsOf(connection, config),
    openRows: async (delivery) => {
      const types = await columnTypes(connection, target.schema, target.table);
      if (types === undefined) return undefined;
      return () => rowsOf(connection, textsQuery(target.quoted, delivery, types));
    },
    close: () => connection.close(),
  };
}

function receiptsOf(connection: Connection, config: RedshiftConfig): TableOfReceipts {
  const { receipts, name } = targetOf(config);
  const deliveries = `SELECT DISTINCT delivery_id FROM ${receipts} WHERE table_name = $1`;
  return {
    name: receipts,
    isThere: () => hasReceipts(connection, config),
    find: (id) => findReceipt(connection, config, id),
    ofExport: (id) => connection.rows(`${deliveries} AND batch_export_id = $2`, [name, id]),
    ofAll: (limit) => connection.rows(`${deliveries} LIMIT ${limit}`, [name]),
  };
}

/**
 * Every value of the rows that a delivery can have brought as text: `c0`, `c1` and so on in the
 * order of its columns.
 */
export function textsQuery(
  target: string,
  layout: Layout & { team_id: number },
  types: ReadonlyMap<string, string>,
): string {
  const texts = layout.columns.map(
    ({ name }, index) => `${textOf(quoted(name), types.get(name.toLowerCase()))} AS c${index}`,
  );
  const ofTeam = isMerged(layout) ? ` WHERE team_id = ${layout.team_id}` : '';
  return `SELECT ${texts.join(', ')} FROM ${target}${ofTeam}`;
}

/**
 * Redshift casts no truth value to text, and a SUPER comes as JSON text as it is, which a VARCHAR
 * may be too short for.
 */
function textOf(name: string, type: string | undefined): string {
  if (type === 'super') return name;
  if (type === 'boolean') return `CASE WHEN ${name} THEN 'true' WHEN NOT ${name} THEN 'false' END`;
  return `CAST(${name} AS varchar(${varchar_bytes_max}))`;
}

async function* rowsOf(connection: Connection, query: string): AsyncGenerator<ValueRow> {
  await connection.rows('BEGIN');
  for await (const rows of connection.batches<Record<string, string | null>>(query, batch_rows))
    for (const row of rows) yield Object.values(row);
  await connection.rows('ROLLBACK');
}
