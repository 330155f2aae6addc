import type { Readable } from 'node:stream';
import type { Engine } from './engine.ts';
import type { Encoding } from './formats/encoding.ts';
import { selectFor } from './formats/select.ts';
import { fromStored } from './ledger.ts';
import type { StoredRectangle } from './ledger.ts';
import type { Column } from './models/column.ts';
import { models } from './models/index.ts';
import type { StoredSlice } from './runs.ts';

/** What a run reads: one project's rows of one model within its selection. */
export type Source = { team_id: number; model: 'events' | 'persons'; selection: StoredRectangle[] };

/** The bound on a slice's rows where nothing else is asked for: a crash repeats at most about this many. */
const slice_records_default = 1_000_000;

/** The bound on the slices of a run, whatever size of files was asked for: each costs a row, a file and a line of the receipt. */
const slices_max = 10_000;

/** How many rows are read to estimate a row's size when a destination bounds its files by bytes. */
const sample_records = 10_000;

/**
 * Counts the selection and cuts it by insertion time into slices of about `bytes_max` or `slice_records_default` rows. Rows inserted at the same instant are never parted, so a slice
 * may be larger by one batch. An empty selection gives no slices.
 */
export async function cutSlices(engine: Engine, source: Source, bytesMax: number | undefined): Promise<StoredSlice[]> {
  const relation = relationOf(source);
  const records = bytesMax === undefined ? slice_records_default : await recordsWithin(engine, source, bytesMax);
  const result = await engine.clickhouse.query({
    query: `
      SELECT toString(min(inserted_at)) AS inserted_from, toString(max(inserted_at) + toIntervalMicrosecond(1)) AS inserted_to, toUInt64(sum(records)) AS records
      FROM (
        SELECT inserted_at, records, intDiv(sum(records) OVER (ORDER BY inserted_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - records,
          greatest({slice_records:UInt64}, toUInt64(ceil(sum(records) OVER () / {slices_max:UInt64})))) AS slice
        FROM (SELECT inserted_at, count() AS records FROM ${relation.text} GROUP BY inserted_at)
      ) GROUP BY slice ORDER BY slice`,
    query_params: { ...relation.parameters, slice_records: records, slices_max },
    format: 'JSONEachRow',
  });
  const rows = await result.json<{ inserted_from: string; inserted_to: string; records: string | number }>();
  return rows.map((row, number) => ({
    number,
    inserted_from: utc(row.inserted_from),
    inserted_to: utc(row.inserted_to),
    records: Number(row.records),
    outcome: null,
  }));
}

async function recordsWithin(engine: Engine, source: Source, bytesMax: number): Promise<number> {
  const relation = relationOf(source);
  const result = await engine.clickhouse.query({
    query: `SELECT avg(byteSize(*)) AS bytes FROM (SELECT * FROM ${relation.text} LIMIT ${sample_records})`,
    query_params: relation.parameters,
    format: 'JSONEachRow',
  });
  const [row] = await result.json<{ bytes: number | null }>();
  return Math.max(1, Math.min(slice_records_default, Math.floor(bytesMax / Math.max(row?.bytes ?? 1, 1))));
}

/** Streams one slice as the final (not yet compressed) bytes that ClickHouse writes itself. The stream errors when the query does; aborting the signal kills the query. */
export async function streamSlice(
  engine: Engine,
  source: Source,
  slice: StoredSlice,
  columns: Column[],
  encoding: Encoding,
  signal: AbortSignal,
): Promise<Readable> {
  const relation = relationOf(source);
  const select = selectFor(encoding, columns);
  const { stream } = await engine.clickhouse.exec({
    query: `SELECT ${select.expressions} FROM ${relation.text} WHERE inserted_at >= {inserted_from:DateTime64(6, 'UTC')} AND inserted_at < {inserted_to:DateTime64(6, 'UTC')} ORDER BY ${models[source.model].order} FORMAT ${select.format}`,
    query_params: { ...relation.parameters, inserted_from: plain(slice.inserted_from), inserted_to: plain(slice.inserted_to) },
    clickhouse_settings: select.settings,
    abort_signal: signal,
  });
  return stream;
}

/** The keys of the selected rows as text (uuid of events, distinct_id of persons), in no particular order, streamed. */
export async function* streamKeys(engine: Engine, source: Source): AsyncGenerator<string> {
  const relation = relationOf(source);
  const result = await engine.clickhouse.query({
    query: `SELECT toString(${models[source.model].key}) AS key FROM ${relation.text}`,
    query_params: relation.parameters,
    format: 'JSONEachRow',
  });
  for await (const rows of result.stream<{ key: string }>()) for (const row of rows) yield row.json().key;
}

function relationOf(source: Source) {
  return models[source.model].relation(source.team_id, fromStored(source.selection));
}

/** ClickHouse's `2024-01-02 03:04:05.678901` is UTC here; PostgreSQL is told so. */
function utc(text: string): string {
  return text.endsWith('Z') ? text : `${text.replace(' ', 'T')}Z`;
}

function plain(text: string): string {
  return text.replace('T', ' ').replace('Z', '');
}
