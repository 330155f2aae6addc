import type {
  DeliveredSlices,
  DestinationDeps,
  Difference,
} from '../../destination/destination.ts';
import type { ContentSource, ValueRow } from '../../destination/content_source.ts';
import { compareContents } from '../../sql_tables/compare_contents.ts';
import { receiptDifferences } from '../../sql_tables/differences.ts';
import { isMerged } from '../../sql_tables/layout.ts';
import { findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { findReceipt } from './commit.ts';
import { receipts_table, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { withBigQueryErrors } from './faults.ts';
import { queryRows } from './jobs.ts';
import { deliveriesQuery, textsQuery } from './statements.ts';
import { requireColumns } from './table.ts';

/** Compares receipts, then all rows of the table with those of the source, value by value. */
export function verifyBigQuery(
  config: BigQueryConfig,
  delivered: DeliveredSlices[],
  source: ContentSource,
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
    return [...differences, ...(await compareRows(dataset, delivered, source))];
  });
}

async function compareRows(
  dataset: Dataset,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const { table, name } = targetOf(dataset.config);
  const found = await findTable(dataset, table);
  if (found === undefined) return [{ kind: 'missing', name, detail: 'The table is gone.' }];
  const { delivery } = first;
  const query = textsQuery(dataset.config, table, delivery.columns, {
    json_columns: requireColumns(dataset, delivery, found),
    ...(isMerged(delivery) ? { team_id: delivery.team_id } : {}),
  });
  const is_shared = await hasOtherDeliveries(dataset, delivered);
  return compareContents(
    { name, is_shared, rows: () => rowsOf(dataset, query) },
    delivered,
    source,
  );
}

async function* rowsOf(dataset: Dataset, query: string): AsyncGenerator<ValueRow> {
  for await (const row of queryRows<Record<string, string | null>>(dataset, query))
    yield Object.values(row);
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
