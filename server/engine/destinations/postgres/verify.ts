import { Readable } from 'node:stream';
import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource } from '../../destination/content_source.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { receiptDifferences } from '../../sql_tables/differences.ts';
import { isMerged, quoted } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { rowsOf } from '../../sql_tables/tab_separated.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { tableExists } from './table.ts';

const batch_rows = 1_000;

/** Compares receipts, then all rows of the table with those of the source, value by value. */
export function verifyPostgres(
  config: PostgresConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withPostgresErrors(async () => {
    const connection = await connect(accessOf(config), deps);
    try {
      await connection.rows('BEGIN');
      const differences = await compareReceipts(connection, config, delivered);
      differences.push(...(await compareRows(connection, config, delivered, source)));
      await connection.rows('ROLLBACK');
      return differences;
    } finally {
      await connection.close();
    }
  });
}

async function compareReceipts(
  connection: Connection,
  config: PostgresConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if (!(await tableExists(connection, target.receipts)))
    return [{ kind: 'missing', name: target.receipts, detail: 'The table of receipts is gone.' }];
  return receiptDifferences(delivered, async (id) => {
    const [row] = await connection.rows<{ manifest: string }>(
      `SELECT manifest FROM ${target.receipts} WHERE delivery_id = $1`,
      [id],
    );
    return row?.manifest;
  });
}

async function compareRows(
  connection: Connection,
  config: PostgresConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  if (!(await tableExists(connection, target.quoted)))
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  const { delivery } = first;
  const list = delivery.columns.map(({ name }) => quoted(name)).join(', ');
  const ofTeam = isMerged(delivery) ? ` WHERE team_id = ${delivery.team_id}` : '';
  const statement = `COPY (SELECT ${list} FROM ${target.quoted}${ofTeam}) TO STDOUT WITH (FORMAT
    text, ENCODING 'UTF8')`;
  return compareContents(
    {
      name: target.name,
      is_shared: await hasOtherDeliveries(connection, config, delivered),
      rows: () => rowsOf(Readable.from(connection.copyOut(statement))),
    },
    delivered,
    source,
  );
}

async function hasOtherDeliveries(
  connection: Connection,
  config: PostgresConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  for await (const batch of connection.batches<{ delivery_id: string }>(
    `SELECT delivery_id FROM ${target.receipts} WHERE table_name = ${literal(target.name)}`,
    batch_rows,
  )) {
    if (batch.some((row) => !known.has(row.delivery_id))) {
      await connection.rows('CLOSE sluice_batches');
      return true;
    }
  }
  return false;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
