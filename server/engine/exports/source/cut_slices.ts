import { sort_settings } from '../../destinations/formats/expression.ts';
import { cutBySize } from './measured_cut.ts';
import type { CutSlice, SizeBound } from './measured_cut.ts';
import type { SourceQuery } from './source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { ask, countRecords } from './source.ts';
import type { Store } from './source.ts';

/**
 * The most rows of a slice: a crash repeats about as many. And the most slices of a run, whatever
 * the requested file size: each costs a row, a file and a line of the receipt.
 */
export const usual_most = { records_max: 1_000_000, slices_max: 10_000 };

/**
 * Counts the selection and cuts it in order into slices: by size like `cutBySize`, otherwise of
 * about `records_max` rows. Rows inserted at the same instant stay together, so a slice
 * may be larger by one batch. A selection that cannot be cut is one slice without bounds. Without
 * rows, there are no slices. Aborting the signal kills the query.
 */
export async function cutSlices(
  store: Store,
  reading: SourceQuery,
  bound: SizeBound | undefined,
  signal: AbortSignal,
  most = usual_most,
): Promise<StoredSlice[]> {
  if (reading.key === undefined) {
    const records = await countRecords(store, reading, signal);
    return records === 0
      ? []
      : [{ number: 0, inserted_from: null, inserted_to: null, records, outcome: null }];
  }
  if (bound !== undefined)
    return boundedSlices(await cutBySize(store, reading, bound, most, signal));
  // Most runs are one slice, for which a plain count is a third cheaper than the cut.
  const [whole] = await ask<CutRow>(store, reading, {
    query: `SELECT ${cut_columns}, toUInt64(count()) AS records FROM ${reading.text}`,
    signal,
  });
  const total = Number(whole?.records ?? 0);
  if (whole === undefined || total === 0) return [];
  if (total <= most.records_max) return storedSlices([whole]);
  // A row's rank is the number of rows inserted before its instant. Events are read in their order,
  // and the frame of one instant bounds the store's memory.
  const rows = await ask<CutRow>(store, reading, {
    query: `
      SELECT ${cut_columns}, toUInt64(count()) AS records
      FROM (SELECT inserted_at, intDiv(rank() OVER (ORDER BY inserted_at RANGE BETWEEN CURRENT ROW
        AND CURRENT ROW) - 1, {slice_records:UInt64}) AS slice FROM ${reading.text})
      GROUP BY slice ORDER BY slice`,
    parameters: {
      slice_records: Math.max(most.records_max, Math.ceil(total / most.slices_max)),
    },
    settings: sort_settings,
    signal,
  });
  return storedSlices(rows);
}

type CutRow = { inserted_from: string; inserted_to: string; records: string | number };

/** The insertion bounds of rows, for `utc`. */
export const cut_columns =
  'toString(min(inserted_at)) AS inserted_from, toString(max(inserted_at) + ' +
  'toIntervalMicrosecond(1)) AS inserted_to';

function storedSlices(rows: CutRow[]): StoredSlice[] {
  return rows.map((row, number) => ({
    number,
    inserted_from: utc(row.inserted_from),
    inserted_to: utc(row.inserted_to),
    records: Number(row.records),
    outcome: null,
  }));
}

function boundedSlices(slices: CutSlice[]): StoredSlice[] {
  return slices.map(({ from, to, records }, number) => ({
    number,
    inserted_from: utc(from.at),
    key_from: from.key,
    inserted_to: utc(to.at),
    key_to: to.key,
    records,
    outcome: null,
  }));
}

/** ClickHouse's `2024-01-02 03:04:05.678901` is UTC; the suffix tells PostgreSQL so. */
export function utc(text: string): string {
  return text.endsWith('Z') ? text : `${text.replace(' ', 'T')}Z`;
}
