import { whyChanged } from '../../model/destination/changed_receipt.ts';
import type { ContentSource, ValueRow } from '../../model/destination/content_source.ts';
import type {
  DeliveredSlices,
  Delivery,
  DestinationDeps,
  Difference,
} from '../../model/destination/destination.ts';
import { withFaults } from '../../model/destination/faults.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { withoutRejected } from './rejected/known_rejected.ts';
import type { KnownRejected } from './rejected/known_rejected.ts';
import { compareContents } from './compare_contents.ts';

type DeliveryId = { delivery_id: string };

/** The receipts beside a table, as they are there now. */
export type TableOfReceipts = {
  /** As users know it. */
  name: string;
  /** False where nothing was delivered yet, or somebody removed it; then nothing else is asked. */
  isThere(): Promise<boolean>;
  /** The text of a delivery's receipt, as it was signed. */
  find(delivery_id: string): Promise<string | undefined>;
  /** The deliveries of an export to this very table. */
  ofExport(batch_export_id: string): Promise<DeliveryId[]>;
  /** So many deliveries to this very table at most, whoever made them. */
  ofAll(limit: number): Promise<DeliveryId[]>;
};

/** A table that deliveries went to, opened to be read, with the receipts beside it. */
export type DeliveredTable = {
  /** As users know it. */
  name: string;
  receipts: TableOfReceipts;
  /** Left out where no rows are set aside. */
  rejected?: KnownRejected;
  /**
   * Makes ready to read all rows that deliveries like this one can have brought, with the values of
   * its columns as text and in bounded memory, once or twice; undefined where the table is gone.
   */
  openRows(delivery: Delivery): Promise<(() => AsyncIterable<ValueRow>) | undefined>;
  /**
   * One sentence that names the columns that keep less than such a delivery brings, where there are
   * any; left out where no table is narrower.
   */
  narrowed?(delivery: Delivery): Promise<string | undefined>;
  close(): Promise<void>;
};

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
 * What a destination with a table and receipts beside it does to read them again: `verify` compares
 * receipts, then all rows with those of the source, value by value. `explainer` makes what
 * gives errors of the other side in its words.
 */
export function tableReaders<Config>(
  open: (config: Config, deps: DestinationDeps) => Promise<DeliveredTable>,
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
      const { receipts } = table;
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
  { name, receipts, rejected, openRows, narrowed }: DeliveredTable,
  delivered: DeliveredSlices[],
  source: ContentSource,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const hasReceipts = await receipts.isThere();
  const differences: Difference[] = hasReceipts
    ? await compareReceipts(receipts, delivered)
    : [{ kind: 'missing', name: receipts.name, detail: 'The table of receipts is gone.' }];
  const rows = await openRows(first.delivery);
  if (rows === undefined)
    return [...differences, { kind: 'missing', name, detail: 'The table is gone.' }];
  if (!hasReceipts) return differences;
  const is_shared = await hasOthers(receipts, delivered);
  const wanted =
    rejected === undefined
      ? { source, differences: [] }
      : await withoutRejected(delivered, source, rejected);
  const contents = await compareContents({ name, is_shared, rows }, delivered, wanted.source);
  const narrower = contents.length === 0 ? undefined : await narrowed?.(first.delivery);
  if (narrower !== undefined)
    source.note(`${narrower} Values of these columns can differ for that reason alone.`);
  return [...differences, ...wanted.differences, ...contents];
}

async function compareReceipts(
  receipts: TableOfReceipts,
  delivered: DeliveredSlices[],
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const { delivery, manifest } of delivered) {
    const name = `receipt ${delivery.delivery_id}`;
    const text = await receipts.find(delivery.delivery_id);
    if (text === undefined)
      differences.push({ kind: 'missing', name, detail: 'The receipt of this delivery is gone.' });
    else if (text !== manifest)
      differences.push({
        kind: 'changed',
        name,
        detail: whyChanged(text),
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
