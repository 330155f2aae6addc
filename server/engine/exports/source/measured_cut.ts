import type { Encoding } from '../../model/destination/encoding.ts';
import { measureFor, roughMeasureFor } from '../../destinations/formats/measure.ts';
import type { Column } from '../../model/models/column.ts';
import type { SourceQuery } from './source_query.ts';
import { ask } from './source.ts';
import type { Store } from './source.ts';

/**
 * The bound on a slice's bytes, as rows of these columns in this encoding before compression;
 * `is_rough` if the lengths of their values are enough.
 */
export type SizeBound = {
  bytes_max: number;
  encoding: Encoding;
  columns: Column[];
  is_rough: boolean;
};

/** The beginning of a slice: the first row of an instant (`key` null), or one row of it. */
type Start = { at: string; key: string | null };

/** Consecutive rows that stay together. `to` is the microsecond after the last. */
type Piece = Start & { to: string; records: number; bytes: number };

/** A slice after the cut; the instants are in the store's notation. */
export type CutSlice = { from: Start; to: Start; records: number };

/** Pieces per slice: enough to fill it nearly, few enough for a short list in a long run. */
const pieces_per_slice = 32;

type PieceRow = {
  from_at: string;
  from_key: string | null;
  to_at: string;
  records: string | number;
  bytes: string | number;
  size_max: string | number;
};

/**
 * Cuts a source in order into slices of at most `bytes_max` bytes (before compression, without a
 * Parquet file's own frame) and `records_max` rows. A single larger row and a rough bound are
 * exceptions. If there would be more than `slices_max` slices, they become larger. It reads the
 * source at most twice; the store's memory grows with the number of insertion instants.
 */
export async function cutBySize(
  store: Store,
  reading: SourceQuery,
  bound: SizeBound,
  most: { records_max: number; slices_max: number },
  signal: AbortSignal,
): Promise<CutSlice[]> {
  const measured = bound.is_rough
    ? roughMeasureFor(bound.columns)
    : measureFor(bound.encoding, bound.columns);
  const bytes_max = Math.max(1, bound.bytes_max - measured.bytes_of_file);
  const listPieces = (unit: 'instant' | 'row', within?: Piece) =>
    ask<PieceRow>(store, reading, {
      query: piecesQuery(reading, measured.expression, unit, within !== undefined),
      parameters: {
        bytes_max,
        slices_max: most.slices_max,
        ...(within === undefined ? {} : { within_from: within.at, within_to: within.to }),
      },
      settings: measured.settings,
      signal,
    });
  const rows = await listPieces('instant');
  const size_max = Math.max(bytes_max, Number(rows[0]?.size_max ?? 0));
  const pieces: Piece[] = [];
  for (const piece of rows.map(pieceOf)) {
    // Rows of one insertion are split if they exceed a slice.
    if (piece.bytes > size_max || piece.records > most.records_max)
      pieces.push(...(await listPieces('row', piece)).map(pieceOf));
    else pieces.push(piece);
  }
  return pack(pieces, size_max, most.records_max);
}

function pieceOf(row: PieceRow): Piece {
  return {
    at: row.from_at,
    key: row.from_key,
    to: row.to_at,
    records: Number(row.records),
    bytes: Number(row.bytes),
  };
}

/**
 * Returns ClickHouse text that groups consecutive units (insertions or rows) into pieces of a
 * fraction of a slice; a larger unit is its own piece.
 */
function piecesQuery(
  reading: SourceQuery,
  expression: string,
  unit: 'instant' | 'row',
  isWithin: boolean,
): string {
  const within = isWithin
    ? " WHERE inserted_at >= {within_from:DateTime64(6, 'UTC')} AND inserted_at < " +
      "{within_to:DateTime64(6, 'UTC')}"
    : '';
  const rows = `SELECT cut_at, cut_key, toUInt64(${expression}) AS row_bytes
    FROM (SELECT *, inserted_at AS cut_at, ${reading.key} AS cut_key
    FROM ${reading.text}${within})`;
  const units =
    unit === 'row'
      ? `SELECT cut_at, cut_key, toUInt64(1) AS records, row_bytes AS bytes FROM (${rows})`
      : `SELECT cut_at, NULL AS cut_key, count() AS records, sum(row_bytes) AS bytes FROM (${rows})
        GROUP BY cut_at`;
  const place = unit === 'row' ? 'cut_at, cut_key' : 'cut_at';
  const first = unit === 'row' ? 'toString(argMin(cut_key, (cut_at, cut_key)))' : 'NULL';
  return `
    SELECT toString(min(cut_at)) AS from_at, ${first} AS from_key,
      toString(max(cut_at) + toIntervalMicrosecond(1)) AS to_at,
      sum(records) AS records, sum(bytes) AS bytes, any(size) AS size_max
    FROM (
      SELECT cut_at, cut_key, records, bytes, greatest({bytes_max:UInt64},
        toUInt64(ceil(sum(bytes) OVER () / {slices_max:UInt64}))) AS size,
        sum(bytes) OVER (ORDER BY ${place} ROWS BETWEEN UNBOUNDED PRECEDING
          AND CURRENT ROW) - bytes AS begins,
        greatest(intDiv(size, ${pieces_per_slice}), 1) AS piece_bytes
      FROM (${units})
    ) GROUP BY intDiv(begins, piece_bytes) AS piece, bytes > piece_bytes AS is_large
      ORDER BY piece, is_large`;
}

/** Fills one slice after the other. */
function pack(pieces: Piece[], bytesMax: number, recordsMax: number): CutSlice[] {
  const slices: (CutSlice & { bytes: number })[] = [];
  for (const { at, key, to, records, bytes } of pieces) {
    const last = slices.at(-1);
    const isFull =
      last === undefined || last.bytes + bytes > bytesMax || last.records + records > recordsMax;
    if (isFull) {
      if (last !== undefined) last.to = { at, key };
      slices.push({ from: { at, key }, to: { at: to, key: null }, records, bytes });
    } else {
      last.records += records;
      last.bytes += bytes;
      last.to = { at: to, key: null };
    }
  }
  return slices.map(({ from, to, records }) => ({ from, to, records }));
}
