import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { countDifference, recordsOf } from '../../destination/destination.ts';
import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
  SourceKeys,
} from '../../destination/destination.ts';
import { identifier } from '../../formats/expression.ts';
import { inDatabase, targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { withClickHouseErrors } from './faults.ts';
import { findReceipt } from './receipts.ts';
import { findTable, isMerged, keyColumn } from './table.ts';

/** More differences of one kind than this are counted, not named. */
const named_max = 1_000;

type Found = {
  kind: 'missing' | 'changed' | 'added';
  key: string;
  expected: number;
  found: number;
  of_kind: number;
};

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a scratch table of the server, so neither side has to fit into our
 * memory. A missing row, a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyClickHouse(
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withClickHouseErrors(async () => {
    const connection = await connect(config, deps);
    try {
      const differences = await compareReceipts(connection, config, delivered);
      differences.push(...(await compareRows(connection, config, delivered, source)));
      return differences;
    } finally {
      await connection.close();
    }
  });
}

async function compareReceipts(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if ((await findTable(connection, config, 'sluice_receipts')) === undefined)
    return [{ kind: 'missing', name: target.receipts, detail: 'The table of receipts is gone.' }];
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const name = `receipt ${delivery.delivery_id}`;
    const receipt = await findReceipt(connection, config, delivery);
    if (receipt === undefined)
      differences.push({ kind: 'missing', name, detail: 'The receipt of this delivery is gone.' });
    else if (receipt.manifest !== manifest)
      differences.push({
        kind: 'changed',
        name,
        detail: 'Its text is not that of the receipt kept here.',
      });
  }
  return differences;
}

async function compareRows(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<Difference[]> {
  const [first] = delivered;
  const key = first && keyColumn(first.delivery);
  if (first === undefined) return [];
  const target = targetOf(config);
  if ((await findTable(connection, config, target.table)) === undefined)
    return [{ kind: 'missing', name: target.name, detail: 'The table is gone.' }];
  if (key === undefined) return compareCounts(connection, config, delivered);
  const scratch = inDatabase(config, `sluice_keys_${randomBytes(6).toString('hex')}`);
  await connection.command(`CREATE TABLE ${scratch} (key String) ENGINE = MergeTree ORDER BY ()`);
  try {
    await connection.insert(
      `INSERT INTO ${scratch} FORMAT JSONCompactEachRow`,
      Readable.from(linesOf(delivered, source)),
    );
    const merged = isMerged(first.delivery) ? first.delivery.team_id : undefined;
    const rows = await connection.rows<Found>(comparison(target.quoted, scratch, key, merged));
    // Rows of deliveries that are not ours cannot be told from added ones.
    const isShared =
      rows.some((row) => row.kind === 'added') &&
      (await hasOtherDeliveries(connection, config, delivered));
    return differencesOf(
      rows.filter((row) => row.kind !== 'added' || !isShared),
      target.name,
      key,
    );
  } finally {
    await connection.command(`DROP TABLE IF EXISTS ${scratch} SYNC`);
  }
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function compareCounts(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const target = targetOf(config);
  if (await hasOtherDeliveries(connection, config, delivered)) return [];
  const [row] = await connection.rows<{ records: number }>(
    `SELECT count() AS records FROM ${target.quoted}`,
  );
  return countDifference(target.name, recordsOf(delivered), row?.records ?? 0);
}

/** A merged row stands for all deliveries of its key, and is what FINAL shows; otherwise each delivery brought one. */
function comparison(
  target: string,
  scratch: string,
  key: string,
  mergedTeamId: number | undefined,
): string {
  const isKeyed = mergedTeamId !== undefined;
  const there = isKeyed ? `${target} FINAL WHERE team_id = ${mergedTeamId}` : target;
  return `SELECT multiIf(expected = 0, 'added', found < expected, 'missing', 'changed') AS kind, key, expected, found, count() OVER (PARTITION BY kind) AS of_kind
    FROM (
      SELECT key, sum(is_expected) AS expected, sum(is_found) AS found
      FROM (
        SELECT key, ${isKeyed ? '1' : 'count()'} AS is_expected, 0 AS is_found FROM ${scratch} GROUP BY key
        UNION ALL SELECT toString(${identifier(key)}) AS key, 0, count() FROM ${there} GROUP BY key
      ) GROUP BY key HAVING expected != found
    ) ORDER BY kind, key LIMIT ${named_max} BY kind`;
}

function differencesOf(rows: Found[], table: string, key: string): Difference[] {
  const differences = rows.map((row) => ({
    kind: row.kind,
    name: `${table} ${key}=${row.key}`,
    detail: detailOf(row),
  }));
  for (const [kind, [row, ...others]] of Map.groupBy(rows, (found) => found.kind)) {
    const unnamed = (row?.of_kind ?? 0) - others.length - 1;
    if (unnamed > 0)
      differences.push({ kind, name: table, detail: `${unnamed} more rows like these.` });
  }
  return differences;
}

function detailOf(row: Found): string {
  if (row.expected === 0) return 'No delivery holds this row.';
  if (row.found === 0) return 'The row is gone.';
  return `It was delivered ${row.expected} times and is there ${row.found} times.`;
}

async function* linesOf(delivered: DeliveredSlices[], source: SourceKeys): AsyncIterable<Buffer> {
  let lines = '';
  for (const { delivery } of delivered) {
    for await (const key of source(delivery.delivery_id)) {
      lines += `${JSON.stringify([key])}\n`;
      if (lines.length < 64 * 1024) continue;
      yield Buffer.from(lines);
      lines = '';
    }
  }
  yield Buffer.from(lines);
}

async function hasOtherDeliveries(
  connection: Connection,
  config: ClickHouseConfig,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const target = targetOf(config);
  const rows = await connection.rows<{ delivery_id: string }>(
    `SELECT DISTINCT delivery_id FROM ${target.receipts} WHERE table_name = {name:String} AND manifest != '' LIMIT ${delivered.length + 1}`,
    { name: target.name },
  );
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  return rows.some((row) => !known.has(row.delivery_id));
}
