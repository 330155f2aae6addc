import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource, ValueRow } from '../../destination/content_source.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { receiptDifferences } from '../../sql_tables/differences.ts';
import { isMerged, quoted } from '../../sql_tables/layout.ts';
import type { Layout } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { withRedshiftErrors } from './faults.ts';
import { findReceipt, hasReceipts } from './receipts.ts';
import { columnTypes, varchar_bytes_max } from './table.ts';

const batch_rows = 200;

/** Compares receipts, then all rows of the table with those of the source, value by value. */
export function verifyRedshift(
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withRedshiftErrors(async () => {
    const connection = await connect(accessOf(config), deps);
    try {
      if (!(await hasReceipts(connection, config)))
        return [
          {
            kind: 'missing',
            name: targetOf(config).receipts,
            detail: 'The table of receipts is gone.',
          },
        ];
      const receipts = await receiptDifferences(delivered, (id) =>
        findReceipt(connection, config, id),
      );
      return [...receipts, ...(await compareRows(connection, config, delivered, source))];
    } finally {
      await connection.close();
    }
  });
}

async function compareRows(
  connection: Connection,
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const target = targetOf(config);
  const types = await columnTypes(connection, target.schema, target.table);
  if (types === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  return compareContents(
    {
      name: target.name,
      is_shared: await hasOtherDeliveries(connection, config, delivered),
      rows: () => rowsOf(connection, textsQuery(target.quoted, first.delivery, types)),
    },
    delivered,
    source,
  );
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

async function hasOtherDeliveries(
  connection: Connection,
  config: RedshiftConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT DISTINCT delivery_id FROM ${target.receipts} WHERE table_name = $1
      LIMIT ${delivered.length + 1}`,
    [target.name],
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
