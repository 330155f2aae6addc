import { Readable } from 'node:stream';
import { countDifference, recordsOf } from '../../destination/destination.ts';
import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
  SourceKeys,
} from '../../destination/destination.ts';
import { receiptDifferences, rowDifferences } from '../../sql_tables/differences.ts';
import type { ComparedKey } from '../../sql_tables/differences.ts';
import { isMerged, keyColumn, quoted } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { withPostgresErrors } from '../../sql_tables/postgres_faults.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { tableExists } from './table.ts';

const batch_rows = 1_000;

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a temporary table of the server, so neither side has to fit into
 * our memory. A missing row, a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyPostgres(
  config: PostgresConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
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
  source: SourceKeys,
): Promise<Difference[]> {
  const [first] = delivered;
  const key = first === undefined ? undefined : keyColumn(first.delivery);
  if (first === undefined) return [];
  const target = targetOf(config);
  if (!(await tableExists(connection, target.quoted)))
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  if (key === undefined) return compareCounts(connection, config, delivered);
  await loadKeys(connection, delivered, source);
  const isShared = await hasOtherDeliveries(connection, config, delivered);
  const ofTeam = isMerged(first.delivery) ? ` WHERE team_id = ${first.delivery.team_id}` : '';
  // A merged row stands for all deliveries of its key; otherwise each delivery brought one.
  const expected = isMerged(first.delivery) ? 'least(count(*), 1)' : 'count(*)';
  const comparison = `SELECT key, coalesce(e.rows, 0)::int AS expected, coalesce(f.rows, 0)::int AS found
    FROM (SELECT key, ${expected} AS rows FROM pg_temp.sluice_keys GROUP BY key) AS e
    FULL JOIN (SELECT ${quoted(key)}::text AS key, count(*) AS rows FROM ${target.quoted}${ofTeam} GROUP BY 1) AS f USING (key)
    WHERE coalesce(e.rows, 0) <> coalesce(f.rows, 0)`;
  return rowDifferences(flat(connection.batches<ComparedKey>(comparison, batch_rows)), {
    name: target.name,
    key,
    is_shared: isShared,
  });
}

async function* flat<Row>(batches: AsyncIterable<Row[]>): AsyncIterable<Row> {
  for await (const batch of batches) yield* batch;
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(
  connection: Connection,
  config: PostgresConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if (await hasOtherDeliveries(connection, config, delivered)) return [];
  const [row] = await connection.rows<{ records: string }>(
    `SELECT count(*)::text AS records FROM ${target.quoted}`,
  );
  return countDifference(target.name, recordsOf(delivered), Number(row?.records ?? 0));
}

async function loadKeys(
  connection: Connection,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<void> {
  await connection.rows('CREATE TEMPORARY TABLE sluice_keys (key text) ON COMMIT DROP');
  const lines = async function* () {
    for (const { delivery } of delivered)
      for await (const keys of inBatches(source(delivery.delivery_id))) yield Buffer.from(keys);
  };
  await connection.copy(
    "COPY pg_temp.sluice_keys FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')",
    Readable.from(lines()),
  );
}

async function* inBatches(keys: AsyncIterable<string>): AsyncIterable<string> {
  let lines = '';
  for await (const key of keys) {
    lines += `${escaped(key)}\n`;
    if (lines.length > 64 * 1024) {
      yield lines;
      lines = '';
    }
  }
  if (lines !== '') yield lines;
}

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '',
};

/** A key as COPY text, cured like the rows themselves. */
function escaped(key: string): string {
  return key.toWellFormed().replaceAll(/[\\\n\r\t\0]/g, (character) => escapes[character] ?? '');
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
