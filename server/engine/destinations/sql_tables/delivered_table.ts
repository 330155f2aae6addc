import { whyChanged } from '../../model/destination/changed_receipt.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type {
  DeliveredSlices,
  Delivery,
  DestinationDeps,
  Seal,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { withFaults } from '../../model/destination/faults.ts';
import type { HeldReceipt, WantedReceipts } from '../../model/destination/held_receipt.ts';
import { withoutRejected } from './rejected/known_rejected.ts';
import { isMerged } from './layout.ts';
import { around, isWithin, numberOfArea } from './comparing/areas.ts';
import type { Area } from './comparing/areas.ts';
import { compareContents } from './comparing/compare_contents.ts';
import type { Dialect } from './dialect.ts';
import type { FoundColumn } from './fitting.ts';
import { textsQuery } from './prepare.ts';
import { receiptsOf } from './receipts.ts';
import { areaWords, findStrangers, numberedAreas, sealTable } from './comparing/table_seals.ts';
import type { TableOfReceipts } from './receipts.ts';
import { knownRejected } from './rejected/rejected_table.ts';

type Verify<Config> = (
  config: Config,
  delivered: DeliveredSlices[],
  source: ContentSource,
  deps: DestinationDeps,
) => Promise<Difference[]>;

/** The members of `DestinationDefinition` that read. */
type Readers<Config> = {
  verify: Verify<Config>;
  seals(
    config: Config,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Map<string, Seal> | undefined>;
  verify_areas: {
    compare: Verify<Config>;
    findStrangers(
      config: Config,
      delivery: Delivery,
      areas: Area[],
      deps: DestinationDeps,
    ): Promise<Difference[]>;
  };
  receipts(
    config: Config,
    deps: DestinationDeps,
    wanted: WantedReceipts,
  ): AsyncIterable<HeldReceipt>;
};

/**
 * Reads a table and the receipts beside it again: `verify` compares receipts, then all rows with
 * those of the source, value by value. `open` opens a session at the place of a config, `explainer`
 * returns the translation of the other side's errors.
 */
export function tableReaders<Config>(
  open: (config: Config, deps: DestinationDeps) => Promise<Dialect>,
  explainer: (config: Config, deps: DestinationDeps) => (error: unknown) => unknown,
): Readers<Config> {
  const within = <Result>(
    config: Config,
    deps: DestinationDeps,
    work: (table: Dialect) => Promise<Result>,
  ) =>
    withFaults(explainer(config, deps), async () => {
      const table = await open(config, deps);
      try {
        return await work(table);
      } finally {
        await table.close();
      }
    });
  return {
    verify: (config, delivered, source, deps) =>
      within(config, deps, (table) => compareTable(table, delivered, source, 'all')),
    seals: (config, delivered, source, deps) =>
      within(config, deps, (table) => sealTable(table, delivered, source)),
    verify_areas: {
      compare: (config, delivered, source, deps) =>
        within(config, deps, (table) => compareTable(table, delivered, source, 'areas')),
      findStrangers: (config, delivery, areas, deps) =>
        within(config, deps, (table) => findStrangers(table, delivery, areas)),
    },
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
 * Without receipts, the rows are not compared: nobody knows then whose rows the others are. With
 * `areas`, only the rows in these deliveries' areas are compared.
 */
async function compareTable(
  dialect: Dialect,
  delivered: DeliveredSlices[],
  source: ContentSource,
  by: 'all' | 'areas',
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
  const dropped = droppedColumns(delivery, found);
  if (dropped.length > 0)
    return [
      ...differences,
      { kind: 'missing', name, detail: `The column ${dropped.join(', ')} is gone.` },
    ];
  const relation = isMerged(delivery) ? (dialect.merged ?? target.quoted) : target.quoted;
  const rows = await dialect.openTexts(
    textsQuery(dialect, relation, delivery, found) +
      (by === 'areas' ? `\nWHERE ${inAreas(dialect, delivered, source)}` : ''),
    delivery.columns.length,
  );
  const rejected = knownRejected(dialect);
  const is_shared =
    by === 'areas'
      ? (await receipts.ofAnother(delivery.batch_export_id)) !== undefined
      : await hasOthers(receipts, delivered, source);
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

/** Returns the rows in the areas of these deliveries, of which `textsQuery` selects all. */
function inAreas(dialect: Dialect, delivered: DeliveredSlices[], source: ContentSource): string {
  const areas = numberedAreas(delivered, source);
  const words = areaWords(dialect);
  return `${isWithin(words, around(areas))} AND ${numberOfArea(words, areas)} >= 0`;
}

/** Returns the columns of the delivery that somebody dropped or renamed since. */
function droppedColumns({ columns }: Delivery, found: FoundColumn[]): string[] {
  const names = new Set(found.map(({ name }) => name.toLowerCase()));
  return columns.map(({ name }) => name).filter((name) => !names.has(name.toLowerCase()));
}

/** Lists the columns that store less than the export sends; undefined for an unsuitable table. */
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
  source: ContentSource,
): Promise<boolean> {
  const known = new Set(delivered.map(({ delivery }) => delivery.delivery_id));
  const hasMore = async () =>
    (await receipts.ofAll(known.size + 1)).some(({ delivery_id }) => !known.has(delivery_id));
  if (!(await hasMore())) return false;
  const again = await source.findBroughtAgain();
  for (const delivery_id of again) known.add(delivery_id);
  return again.size === 0 || hasMore();
}
