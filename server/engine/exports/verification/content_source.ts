import type { ContentSource, ValueRow } from '../../model/destination/content_source.ts';
import type { Engine } from '../engine.ts';
import { readCsv } from '../../destinations/formats/text/read_csv.ts';
import { content_encoding } from '../../destinations/formats/select.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { mayLackEvents, reachesRemoved } from '../../model/ledger/removed.ts';
import type { Removed } from '../../model/ledger/removed.ts';
import type { Column } from '../../model/models/column.ts';
import { isMadeOfEvents } from '../../model/models/model.ts';
import type { TypedColumn } from '../../model/schema/typed_relation.ts';
import { openSourceQuery } from '../source/source_query.ts';
import type { SourceQuery, Source } from '../source/source_query.ts';
import type { Receipt } from '../runs/receipt.ts';
import type { StoredSlice } from '../../model/run.ts';
import { countRecords, streamSlice } from '../source/source.ts';

/** A delivery in the server's records. */
export type KnownDelivery = {
  receipt: Receipt;
  slices: StoredSlice[];
  /** The typed columns of its run. */
  typed_columns: TypedColumn[] | null;
};

type Reader = Pick<ContentSource, 'findBroughtAgain' | 'note' | 'onRow'> & {
  /** Returns the columns to compare for a delivery with these typed columns. */
  columns(typed_columns: TypedColumn[] | null): Column[];
  /** The rows of the project that retention has removed. */
  removed: Removed | undefined;
  signal: AbortSignal;
};

/**
 * Opens the rows of one export's deliveries, read from the analytics store as they would be
 * delivered now.
 */
export function openContentSource(
  engine: Engine,
  row: Pick<Source, 'team_id' | 'model' | 'custom_query' | 'destination_config'>,
  known: ReadonlyMap<string, KnownDelivery>,
  { columns, removed, signal, ...reader }: Reader,
): ContentSource {
  const deliveryOf = (deliveryId: string): KnownDelivery => {
    const found = known.get(deliveryId);
    if (found === undefined)
      throw new Error(`Sluice has no receipt of the delivery ${deliveryId}.`);
    return found;
  };
  const readingOf = (deliveryId: string): Promise<SourceQuery> => {
    const { receipt, typed_columns } = deliveryOf(deliveryId);
    const { selection, data_interval_end } = receipt;
    return openSourceQuery(engine, { ...row, typed_columns, selection, data_interval_end });
  };
  return {
    rows: async function* (deliveryId, number): AsyncGenerator<ValueRow> {
      const reading = await readingOf(deliveryId);
      const { slices, typed_columns } = deliveryOf(deliveryId);
      for (const slice of slices)
        if (number === undefined || slice.number === number)
          yield* readCsv(
            await streamSlice(
              engine,
              reading,
              slice,
              columns(typed_columns),
              content_encoding,
              signal,
            ),
          );
    },
    isWhole: async (deliveryId) =>
      !mayMisjudge(row, deliveryOf(deliveryId), removed) &&
      (await countRecords(engine, await readingOf(deliveryId), signal)) ===
        deliveryOf(deliveryId).receipt.source_records,
    contents: (deliveryId) => contentsOf(deliveryOf(deliveryId)),
    ...reader,
  };
}

function contentsOf({ receipt, slices }: KnownDelivery): ReturnType<ContentSource['contents']> {
  // Slices that were joined after a restore have no own digest.
  const isCutSo = slices.length === receipt.slices.length;
  const signed = new Map(
    isCutSo ? receipt.slices.map((slice) => [slice.number, slice] as const) : [],
  );
  return {
    selection: receipt.selection,
    columns: receipt.columns.map(({ name }) => name),
    slices: slices.map(({ number, records, inserted_from, inserted_to }) => ({
      number,
      // Excludes rows that the destination refused.
      records: signed.get(number)?.records ?? records,
      inserted_from,
      inserted_to,
      digest: signed.get(number)?.rows_digest ?? signed.get(number)?.digest,
      is_rows_digest: signed.get(number)?.rows_digest !== undefined,
    })),
  };
}

/**
 * Returns true if a count is not enough. A query may return as many rows as before, but different
 * ones. The current version of a person may lie in a delivery that is incomplete at the source,
 * beside an older version in a complete one. A session or a group may be computed from fewer
 * events.
 */
function mayMisjudge(
  { custom_query, model }: Pick<Source, 'custom_query' | 'model'>,
  { receipt }: KnownDelivery,
  removed: Removed | undefined,
): boolean {
  if (removed === undefined || (custom_query === null && model === 'events')) return false;
  const selection = fromStored(receipt.selection);
  return isMadeOfEvents(model)
    ? mayLackEvents(selection, removed)
    : reachesRemoved(selection, removed);
}
