import { whyChanged } from '../../model/destination/changed_receipt.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type {
  DeliveredSlices,
  Delivery,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { withFaults } from '../../model/destination/faults.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { withoutRejected } from './rejected/known_rejected.ts';
import { isMerged } from './layout.ts';
import { compareContents } from './comparing/compare_contents.ts';
import type { Dialect } from './dialect.ts';
import type { FoundColumn } from './fitting.ts';
import { textsQuery } from './prepare.ts';
import { receiptsOf } from './receipts.ts';
import type { TableOfReceipts } from './receipts.ts';
import { knownRejected } from './rejected/rejected_table.ts';

/** The two of `DestinationDefinition` that read. */
type Readers<Config> = {
  verify(
    config: Config,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Difference[]>;
  receipts(
    config: Config,
    deps: DestinationDeps,
    wanted: WantedReceipts,
  ): AsyncIterable<HeldReceipt>;
};

/**
 * Reads a table and the receipts beside it again: `verify` compares receipts, then all rows with
 * those of the source, value by value. `open` opens a session at the place of a config, `explainer`
 * makes what gives errors of the other side in its words.
 */
export function tableReaders<Config>(
  open: (config: Config, deps: DestinationDeps) => Promise<Dialect>,
  explainer: (config: Config, deps: DestinationDeps) => (error: unknown) => unknown,
): Readers<Config> {
  return {
    verify: (config, delivered, source, deps) =>
      withFaults(explainer(config, deps), async () => {
        const table = await open(config, deps);
        try {
          return await compareTable(table, delivered, source);
        } finally {
          await table.close();
        }
      }),
    async *receipts(config, deps, { batch_export_id, isKnown }): AsyncGenerator<HeldReceipt> {
      const explained = explainer(config, deps);
      const withErrors = <Result>(work: () => Promise<Result>) => withFaults(explained, work);
      const table = await withErrors(() => open(config, deps));
      const receipts = receiptsOf(table);
      try {
        const held = await withErrors(async () =>
          (await receipts.isThere()) ? receipts.ofExport(batch_export_id) : [],
        );
        for (const { delivery_id } of held) {
          if (isKnown(delivery_id.slice(-12))) continue;
          const text = await withErrors(() => receipts.find(delivery_id));
          if (text !== undefined) yield { name: `receipt ${delivery_id}`, text };
        }
      } finally {
        await table.close();
      }
    },
  };
}

/**
 * Without receipts the rows are not compared: nobody knows then whose rows others in the table are.
 */
async function compareTable(
  dialect: Dialect,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const { target } = dialect;
  const { name } = target;
  const receipts = receiptsOf(dialect);
  const hasReceipts = await receipts.isThere();
  const differences: Difference[] = hasReceipts
    ? await compareReceipts(receipts, delivered)
    : [{ kind: 'missing', name: receipts.name, detail: 'The table of receipts is gone.' }];
  const found = await dialect.findColumns(target.table);
  if (found === undefined)
    return [...differences, { kind: 'missing', name, detail: 'The table is gone.' }];
  if (!hasReceipts) return differences;
  const { delivery } = first;
  const relation = isMerged(delivery) ? (dialect.merged ?? target.quoted) : target.quoted;
  const rows = await dialect.openTexts(
    textsQuery(dialect, relation, delivery, found),
    delivery.columns.length,
  );
  const rejected = knownRejected(dialect);
  const is_shared = await hasOthers(receipts, delivered);
  const wanted =
    rejected === undefined
      ? { source, differences: [] }
      : await withoutRejected(delivered, source, rejected);
  const contents = await compareContents({ name, is_shared, rows }, delivered, wanted.source);
  const narrower = contents.length === 0 ? undefined : await narrowedBy(dialect, delivery, found);
  if (narrower !== undefined)
    source.note(`${narrower} Values of these columns can differ for that reason alone.`);
  return [...differences, ...wanted.differences, ...contents];
}

/** Names the columns that keep less than the export brings; undefined for an unsuitable table. */
async function narrowedBy(
  dialect: Dialect,
  delivery: Delivery,
  found: FoundColumn[],
): Promise<string | undefined> {
  try {
    return await dialect.checkTable(delivery, found);
  } catch (error) {
    if (error instanceof NonRetryableError) return undefined;
    throw error;
  }
}

async function compareReceipts(
  receipts: TableOfReceipts,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const { delivery_id } = delivery;
    const about = 'receipt' as const;
    const name = `receipt ${delivery_id}`;
    const text = await receipts.find(delivery_id);
    const detail = text === undefined ? 'The receipt of this delivery is gone.' : whyChanged(text);
    if (text !== manifest)
      differences.push({
        kind: text === undefined ? 'missing' : 'changed',
        name,
        detail,
        delivery_id,
        about,
      });
  }
  return differences;
}

async function hasOthers(
  receipts: TableOfReceipts,
  delivered: DeliveredSlices[],
): Promise<boolean> {
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  const some = await receipts.ofAll(delivered.length + 1);
  return some.some(({ delivery_id }) => !known.has(delivery_id));
}
