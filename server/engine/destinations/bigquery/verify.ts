import { randomBytes } from 'node:crypto';
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
import { isMerged, keyColumn } from '../../sql_tables/layout.ts';
import { dropTable, findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { findReceipt } from './commit.ts';
import { receipts_table, stage_prefix, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryError, withBigQueryErrors } from './faults.ts';
import { queryRows, resultOf } from './jobs.ts';
import { loadConfiguration, makeScratchTable } from './stage.ts';
import { comparisonQuery, countQuery, deliveriesQuery } from './statements.ts';
import { uploadJob } from './upload.ts';

const key_fields = [{ name: 'key', type: 'STRING' }];
const lines_characters = 64 * 1024;

/**
 * Compares receipts, then the keys of the source with those of the table: the keys go into a scratch table of the dataset, so neither side has to fit into our memory. A missing row,
 * a row that is there too often, and one that no delivery holds are named, up to 1,000 of a kind. Rows of a query that have no key are counted.
 */
export function verifyBigQuery(
  config: BigQueryConfig,
  delivered: DeliveredSlices[],
  source: SourceKeys,
  deps: DestinationDeps,
): Promise<Difference[]> {
  return withBigQueryErrors(config, deps.signal, async () => {
    const dataset = await openDataset(config, deps);
    if ((await findTable(dataset, receipts_table)) === undefined)
      return [
        {
          kind: 'missing',
          name: `${config.dataset_id}.${receipts_table}`,
          detail: 'The table of receipts is gone.',
        },
      ];
    const differences = await receiptDifferences(delivered, (id) => findReceipt(dataset, id));
    return [...differences, ...(await compareRows(dataset, delivered, source, deps))];
  });
}

async function compareRows(
  dataset: Dataset,
  delivered: DeliveredSlices[],
  source: SourceKeys,
  { log }: DestinationDeps,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const { table, name } = targetOf(dataset.config);
  if ((await findTable(dataset, table)) === undefined)
    return [{ kind: 'missing', name, detail: 'The table is gone.' }];
  const is_shared = await hasOtherDeliveries(dataset, delivered);
  const key = keyColumn(first.delivery);
  if (key === undefined)
    return is_shared
      ? []
      : countDifference(name, recordsOf(delivered), await countRows(dataset, table));
  const keys = `${stage_prefix}keys_${randomBytes(6).toString('hex')}`;
  try {
    await makeScratchTable(dataset, keys, key_fields);
    await loadKeys(dataset, keys, delivered, source);
    const comparison = comparisonQuery(
      dataset.config,
      keys,
      key,
      isMerged(first.delivery) ? first.delivery.team_id : undefined,
    );
    return await rowDifferences(comparedKeys(dataset, comparison), { name, key, is_shared });
  } finally {
    await dropTable(dataset, keys).catch((error: unknown) =>
      log.warn({ err: bigQueryError(error, dataset.config) }, 'a scratch table may be left behind'),
    );
  }
}

async function loadKeys(
  dataset: Dataset,
  table: string,
  delivered: DeliveredSlices[],
  source: SourceKeys,
): Promise<void> {
  if (recordsOf(delivered) === 0) return;
  const load = loadConfiguration(dataset, table, {
    sourceFormat: 'NEWLINE_DELIMITED_JSON',
    fields: key_fields,
  });
  await resultOf(
    dataset,
    await uploadJob(dataset, `load_${table}`, load, Readable.from(linesOf(delivered, source))),
  );
}

async function* comparedKeys(dataset: Dataset, comparison: string): AsyncGenerator<ComparedKey> {
  for await (const { key, expected, found } of queryRows<
    Record<'key' | 'expected' | 'found', string | null>
  >(dataset, comparison))
    yield { key: key ?? 'NULL', expected: Number(expected), found: Number(found) };
}

/** Rows without a key can only be counted, and only where the table holds nothing but these deliveries. */
async function countRows(dataset: Dataset, table: string): Promise<number> {
  for await (const { records } of queryRows<{ records: string }>(
    dataset,
    countQuery(dataset.config, table),
  ))
    return Number(records);
  return 0;
}

async function* linesOf(delivered: DeliveredSlices[], source: SourceKeys): AsyncGenerator<Buffer> {
  let lines = '';
  for (const { delivery } of delivered) {
    for await (const key of source(delivery.delivery_id)) {
      // Cured like the rows themselves.
      lines += `${JSON.stringify({ key: key.toWellFormed() })}\n`;
      if (lines.length < lines_characters) continue;
      yield Buffer.from(lines);
      lines = '';
    }
  }
  yield Buffer.from(lines);
}

async function hasOtherDeliveries(
  dataset: Dataset,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  const query = deliveriesQuery(dataset.config, delivered.length + 1);
  for await (const row of queryRows<{ delivery_id: string }>(dataset, query, {
    table_name: targetOf(dataset.config).name,
  }))
    if (!known.has(row.delivery_id)) return true;
  return false;
}
