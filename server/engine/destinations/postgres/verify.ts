import { Readable } from 'node:stream';
import { countDifference, recordsOf } from '../../destination.ts';
import type { DeliveredSlices, DestinationDeps, Difference, SourceKeys } from '../../destination.ts';
import { quoted, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withPostgresErrors } from './faults.ts';
import { isMerged, keyColumn, tableExists } from './table.ts';

const batch_rows = 1_000;
/** More differences of one kind than this are counted, not named. */
const named_max = 1_000;

type Found = { key: string; expected: number; found: number };

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a temporary table of the server, so neither side has to fit into
 * our memory. A missing row, a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyPostgres(config: PostgresConfig, delivered: DeliveredSlices[], source: SourceKeys, deps: DestinationDeps): Promise<Difference[]> {
  return withPostgresErrors(async () => {
    const connection = await connect(config, deps);
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

async function compareReceipts(connection: Connection, config: PostgresConfig, delivered: DeliveredSlices[]): Promise<Difference[]> {
  const target = targetOf(config);
  if (!(await tableExists(connection, target.receipts))) return [{ kind: 'missing', name: target.receipts, detail: 'The table of receipts is gone.' }];
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const name = `receipt ${delivery.delivery_id}`;
    const [row] = await connection.rows<{ manifest: string }>(`SELECT manifest FROM ${target.receipts} WHERE delivery_id = $1`, [delivery.delivery_id]);
    if (row === undefined) differences.push({ kind: 'missing', name, detail: 'The receipt of this delivery is gone.' });
    else if (row.manifest !== manifest) differences.push({ kind: 'changed', name, detail: 'Its text is not that of the receipt kept here.' });
  }
  return differences;
}

async function compareRows(connection: Connection, config: PostgresConfig, delivered: DeliveredSlices[], source: SourceKeys): Promise<Difference[]> {
  const [first] = delivered;
  const key = first === undefined ? undefined : keyColumn(first.delivery.model, first.delivery.columns);
  if (first === undefined) return [];
  const target = targetOf(config);
  if (!(await tableExists(connection, target.quoted))) return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
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
  const differences = new Map<Difference['kind'], Difference[]>();
  const counts = new Map<Difference['kind'], number>();
  for await (const batch of connection.batches<Found>(comparison, batch_rows)) {
    for (const row of batch) {
      const difference = differenceOf(row, target.name, key);
      // Rows of deliveries that are not ours cannot be told from added ones.
      if (difference.kind === 'added' && isShared) continue;
      counts.set(difference.kind, (counts.get(difference.kind) ?? 0) + 1);
      const named = differences.get(difference.kind) ?? [];
      if (named.length < named_max) named.push(difference);
      differences.set(difference.kind, named);
    }
  }
  return [...differences].flatMap(([kind, named]) => {
    const others = (counts.get(kind) ?? 0) - named.length;
    return others === 0 ? named : [...named, { kind, name: target.name, detail: `${others} more rows like these.` }];
  });
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(connection: Connection, config: PostgresConfig, delivered: DeliveredSlices[]): Promise<Difference[]> {
  const target = targetOf(config);
  if (await hasOtherDeliveries(connection, config, delivered)) return [];
  const [row] = await connection.rows<{ records: string }>(`SELECT count(*)::text AS records FROM ${target.quoted}`);
  return countDifference(target.name, recordsOf(delivered), Number(row?.records ?? 0));
}

function differenceOf(row: Found, table: string, key: string): Difference {
  const name = `${table} ${key}=${row.key}`;
  if (row.expected === 0) return { kind: 'added', name, detail: 'No delivery holds this row.' };
  if (row.found < row.expected)
    return { kind: 'missing', name, detail: row.found === 0 ? 'The row is gone.' : `It was delivered ${row.expected} times and is there ${row.found} times.` };
  return { kind: 'changed', name, detail: `It was delivered ${row.expected} times and is there ${row.found} times.` };
}

async function loadKeys(connection: Connection, delivered: DeliveredSlices[], source: SourceKeys): Promise<void> {
  await connection.rows('CREATE TEMPORARY TABLE sluice_keys (key text) ON COMMIT DROP');
  const lines = async function* () {
    for (const { delivery } of delivered) for await (const keys of inBatches(source(delivery.delivery_id))) yield Buffer.from(keys);
  };
  await connection.copy("COPY pg_temp.sluice_keys FROM STDIN WITH (FORMAT text, ENCODING 'UTF8')", Readable.from(lines()));
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

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '' };

/** A key as COPY text, cured like the rows themselves. */
function escaped(key: string): string {
  return key.toWellFormed().replaceAll(/[\\\n\r\t\0]/g, (character) => escapes[character] ?? '');
}

async function hasOtherDeliveries(connection: Connection, config: PostgresConfig, delivered: DeliveredSlices[]): Promise<boolean> {
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
