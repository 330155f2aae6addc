import { counted } from '../../../platform/counted.ts';
import { openStallTimer } from '../../../platform/pacing/stall_timer.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { fromStored, subtract, unionOf } from '../../model/ledger/rectangles.ts';
import { earliestOf, findRemoved, removedSentence } from '../../model/ledger/removed.ts';
import type { Removed } from '../../model/ledger/removed.ts';
import type { Column } from '../../model/models/column.ts';
import { findColumnsAt } from '../../model/schema/run_columns.ts';
import { emptyColumn } from '../../model/schema/typed_relation.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';
import { readReceipt } from '../runs/receipt.ts';
import type { Receipt } from '../runs/receipt.ts';
import { openConfig } from '../runs/run_input.ts';
import { columnsOf } from '../source/source_query.ts';
import { openContentSource } from './content_source.ts';
import type { KnownDelivery } from './content_source.ts';
import { listSlicesOf } from './deliveries.ts';
import type { DeliveryRun } from './deliveries.ts';
import { deliveryOf, listForgotten } from './missing_deliveries.ts';
import type { LookedAtExport } from './missing_deliveries.ts';
import { verifyPartsOf } from './verify_parts.ts';

const stall_milliseconds = 3_600_000;

/** An export whose deliveries are compared with its destination. */
export type Comparing = {
  engine: Engine;
  row: LookedAtExport;
  definition: DestinationDefinition;
  /** Ends the comparison. */
  signal: AbortSignal;
  /** Called for each row that is read, at the source or the destination. */
  onRow(): void;
};

/**
 * The result for some deliveries. It is filled during reading, so that the receipts' numbers are
 * known even if the destination cannot be read.
 */
export type Comparison = {
  /** Deliveries with slices. */
  deliveries: number;
  records: number;
  differences: Difference[];
  /** Sentences about comparisons that were not row by row. */
  notes: string[];
  /** True if something could not be compared. */
  is_unproven: boolean;
};

/** Returns an empty comparison. */
export function newComparison(): Comparison {
  return { deliveries: 0, records: 0, differences: [], notes: [], is_unproven: false };
}

/** Chooses the deliveries whose contents are read, and how; seals judge the others. */
export type Choose = (
  delivered: DeliveredSlices[],
  source: ContentSource,
  config: Record<string, unknown>,
  deps: DestinationDeps,
) => Promise<{ delivered: DeliveredSlices[]; by: 'all' | 'areas' }>;

/**
 * Compares deliveries with their receipts and the destination, and fills the comparison. Compares
 * all deliveries at once, unless the destination can be read in parts, or a look skips some.
 */
export async function compareDeliveries(
  comparing: Comparing,
  runs: DeliveryRun[],
  comparison: Comparison,
  look?: { choose: Choose; reads_all: boolean },
): Promise<void> {
  const { engine, row, definition } = comparing;
  const delivered: DeliveredSlices[] = [];
  const columnsAt = await findColumnsAt(engine.db, row, numbersOf(runs));
  const known = new Map<string, KnownDelivery>();
  const slices_of = await listSlicesOf(engine.db, runs);
  for (const run of runs) {
    // The signature of a delivery that only its seal judges was checked when it was read.
    const receipt =
      look?.reads_all !== false
        ? signedBy(engine, run)
        : (parseJson(run.receipt) as Receipt | undefined);
    if (receipt === undefined) {
      comparison.differences.push(unsignedReceipt(run));
      continue;
    }
    const slices = slices_of.get(run.id) ?? [];
    const typed_columns =
      run.schema_number === null ? null : (columnsAt.get(run.schema_number) ?? []);
    known.set(run.delivery_id, { receipt, slices, typed_columns });
    comparison.records += receipt.records;
    const outcomes = slices.flatMap((slice) => (slice.outcome === null ? [] : [slice.outcome]));
    // A table has the columns of all its deliveries, a file only its own.
    const laid_out = definition.column_set === 'tables' ? row : { ...row, typed_columns };
    const delivery = deliveryOf(laid_out, { ...run, run_id: run.id }, definition);
    if (outcomes.length > 0) delivered.push({ delivery, outcomes, manifest: run.receipt });
  }
  comparison.deliveries += delivered.length;
  // If rows cannot be read again, their receipts are still checked.
  if (definition.not_verifiable !== undefined) {
    comparison.is_unproven = true;
    comparison.notes.push(definition.not_verifiable);
  }
  // Without a delivery, nothing at the destination can be missing.
  else if (delivered.length > 0) await readAgain(comparing, comparison, delivered, known, look);
}

const signedBy = ({ secrets }: Engine, { receipt }: Pick<DeliveryRun, 'receipt'>) =>
  readReceipt(receipt, secrets.public_key);

function numbersOf(runs: DeliveryRun[]): number[] {
  return runs.map(({ schema_number }) => schema_number).filter((number) => number !== null);
}

function unsignedReceipt({ id, delivery_id }: Pick<DeliveryRun, 'id' | 'delivery_id'>): Difference {
  const detail = 'the stored receipt was not signed by this server or was changed since.';
  const name = `receipt of run ${id}`;
  return { kind: 'changed', name, detail, delivery_id, about: 'receipt' };
}

async function readAgain(
  { engine, row, definition, signal, onRow }: Comparing,
  comparison: Comparison,
  delivered: DeliveredSlices[],
  known: Map<string, KnownDelivery>,
  look: { choose: Choose; reads_all: boolean } | undefined,
): Promise<void> {
  const removed = await findRemoved(engine.db, row.team_id);
  if (removed !== undefined) comparison.notes.push(...removedNotes(removed, known));
  const timer = openStallTimer(stall_milliseconds, 'Nothing moved for an hour.');
  const ending = AbortSignal.any([timer.signal, signal]);
  const source = openContentSource(engine, row, known, {
    findBroughtAgain: () => findBroughtAgain(engine, row, known),
    columns: (typed_columns) => columnsIn(row, typed_columns, definition),
    removed,
    signal: ending,
    note: (sentence, given) => {
      comparison.notes.push(sentence);
      comparison.is_unproven ||= given?.is_unproven === true;
    },
    onRow: () => {
      timer.refresh();
      onRow();
    },
  });
  const deps = destinationDeps(engine, ending, () => timer.refresh());
  try {
    const config = openConfig(engine, row.id, row);
    const chosen = await look?.choose(delivered, source, config, deps);
    const read = chosen?.delivered ?? delivered;
    for (const { delivery, manifest } of look?.reads_all === false ? read : [])
      if (signedBy(engine, { receipt: manifest }) === undefined)
        comparison.differences.push(
          unsignedReceipt({ id: delivery.run_id, delivery_id: delivery.delivery_id }),
        );
    if (read.length === 0) return;
    const compare =
      verifyPartsOf(definition, row.write_rule)?.compare ??
      (chosen?.by === 'areas' ? definition.verify_areas!.compare : definition.verify);
    comparison.differences.push(...(await compare(config, read, source, deps)));
  } finally {
    timer.end();
  }
}

/** Finds the deliveries that left the ledger and lie within these. */
async function findBroughtAgain(
  { db }: Engine,
  row: LookedAtExport,
  known: Map<string, KnownDelivery>,
): Promise<Set<string>> {
  const forgotten = await listForgotten(db, row);
  if (forgotten.length === 0) return new Set();
  const areas = unionOf(
    [...known.values()].flatMap(({ receipt }) => fromStored(receipt.selection)),
  );
  const within = forgotten.filter(
    ({ selection }) => subtract(fromStored(selection), areas).length === 0,
  );
  return new Set(within.map(({ delivery_id }) => delivery_id));
}

/** Returns the columns that a delivery with these typed columns filled; a table may have more. */
function columnsIn(
  row: LookedAtExport,
  typed_columns: TypedColumn[] | null,
  { column_set }: DestinationDefinition,
): Column[] {
  const own = columnsOf({ ...row, typed_columns }, column_set);
  if (column_set === 'files' || row.typed_columns === null) return own;
  const filled = new Set(own.map(({ name }) => name));
  return columnsOf(row, column_set).map((column) =>
    filled.has(column.name) ? column : emptyColumn(column),
  );
}

/** Lists the deliveries whose source rows are gone, and how they are judged. */
function removedNotes(removed: Removed, known: Map<string, KnownDelivery>): string[] {
  const reaching = [...known.values()].filter(
    ({ receipt }) => earliestOf(fromStored(receipt.selection)) < Date.parse(removed.before),
  ).length;
  if (reaching === 0) return [];
  return [
    `${removedSentence(removed)}. Of the deliveries ${reaching} reach back so far: what of them ` +
      'is gone at the source is judged by the digests and counts of their receipts.',
  ];
}

/** Formats row counts in a sentence: `1,200 rows of about 5,000`. */
export function rowsSentence(rows: number, records: number): string {
  const all = (2 * records).toLocaleString('en');
  return `${counted(rows, 'row')} of about ${all} read on both sides.`;
}
