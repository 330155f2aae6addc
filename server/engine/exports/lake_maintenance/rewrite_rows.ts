import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import sql from 'sql-template-tag';
import { counted } from '../../../platform/counted.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { streamAnswer } from '../../../platform/clickhouse/answer.ts';
import { readParquets } from '../../destinations/formats/parquet/read_parquet.ts';
import { sort_settings } from '../../destinations/formats/expression.ts';
import { selectParquet } from '../../destinations/formats/parquet/parquet.ts';
import type { FileStatistics } from '../../destinations/lake/file_statistics.ts';
import { lineage_fields } from '../../destinations/lake/row_lineage.ts';
import { hasDefault } from '../../destinations/lake/schema.ts';
import type { SchemaField, TableSchema } from '../../destinations/lake/schema.ts';
import { currentSchema, tracksRows } from '../../destinations/lake/table_metadata.ts';
import { stampParquet } from '../../destinations/lake/stamp_parquet.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import type { Engine } from '../engine.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { orderOf } from './rows_order.ts';
import { UnfitFilesError, inputsOf, withLineage } from './rows_inputs.ts';
import type { SourceFile } from './rows_inputs.ts';
import type { RowsLayout, RowsOrder } from './rows_order.ts';
import { openTeller, tellRows } from './tell_rows.ts';
import type { ToldRows } from './tell_rows.ts';

/** The column types that this server can write. */
const column_types: Record<string, ColumnType> = {
  string: 'text',
  timestamptz: 'timestamp',
  long: 'integer',
  double: 'float',
  boolean: 'boolean',
  date: 'date',
  'decimal(38, 9)': 'decimal',
};

/**
 * Returns ClickHouse text for a column's value from its text in a file. Without `OrNull`, the
 * function fails at a null beside other values. A value that it would refuse changes the digest.
 */
const expressions: Partial<Record<ColumnType, (text: string) => string>> = {
  timestamp: (text) => `parseDateTime64BestEffortOrNull(${text}, 6, 'UTC')`,
};

/**
 * Blocks of the table are whole granules, and a row group may get twice its size. So a group never
 * exceeds the 50,000 rows of exports, which the reader expects.
 */
const group_settings = { max_block_size: '16384', output_format_parquet_row_group_size: '20000' };

/**
 * Rows to leave out: those with one of an erasure's keys in a column. The kind of the keys is that
 * of noted rows, or `distinct_id` for the ids of erased persons.
 */
export type LeftOut = { erasure_id: string; kind: string; column: string };

/** Returns a query for the keys of an erasure, with its parameters. */
export function erasureKeys({ erasure_id, kind }: Pick<LeftOut, 'erasure_id' | 'kind'>) {
  const query =
    kind === 'distinct_id'
      ? 'SELECT distinct_id AS key FROM erasing_ids WHERE erasure_id = {erasure_id:UUID}'
      : `SELECT key FROM erasing_rows
          WHERE erasure_id = {erasure_id:UUID} AND kind = {kind:String}`;
  return { query, params: { erasure_id, kind } };
}

/** The remaining rows of some files, and their new file; undefined if no row is left. */
export type RewrittenRows = {
  records: number;
  sort_order_id: number;
  file: { bytes: Buffer; sha256: string; statistics: FileStatistics } | undefined;
};

/** The table whose files are read, and the place of the rows meanwhile. */
export type RewritingWork = Pick<MaintainedTable, 'engine' | 'job' | 'signal'> & {
  files: Pick<TableFiles, 'read'>;
};

/** The rows to write, from these files, whose columns are found by id or name. */
export type WantedRows = {
  metadata: RowsLayout;
  sources: SourceFile[];
  left_out?: LeftOut;
  by_name?: boolean;
};

/** Returns the reason why this server cannot write files with this schema; undefined if it can. */
export function whyUnfit({ fields }: TableSchema): string | undefined {
  const unfit = fields.find(({ type }) => column_types[String(type)] === undefined);
  if (unfit) return `The column "${unfit.name}" has the type ${JSON.stringify(unfit.type)}.`;
  const other = fields.find(hasDefault);
  return other && `The column "${other.name}" has a default value.`;
}

/**
 * Writes the rows of files into one file without the rows to leave out, in the order of the table
 * or otherwise in their own. Guarantee: the new file holds exactly the rows that were read. Their
 * number and the digest of their values are compared with the new file when it is read again. For
 * format version 3, the values include each row's id and sequence number. Throws `UnfitFilesError`
 * for a file that this server cannot read exactly.
 */
export async function rewriteRows(
  { engine, files, job, signal }: RewritingWork,
  { metadata, sources, left_out, by_name = false }: WantedRows,
): Promise<RewrittenRows> {
  const own = currentSchema(metadata);
  const why = whyUnfit(own);
  if (why !== undefined) throw new UnfitFilesError(why);
  const tracks_rows = tracksRows(metadata);
  const fields = [...own.fields, ...(tracks_rows ? lineage_fields : [])];
  const schema = { ...own, fields };
  const inputs = inputsOf(files, fields, sources, by_name);
  try {
    const given = await stage(
      engine,
      job,
      tracks_rows ? withLineage(readParquets(inputs), sources) : readParquets(inputs),
      signal,
    );
    sources.forEach(({ path, records }, index) => {
      if (given.counts[index] !== records)
        throw new UnfitFilesError(
          `The file ${path} has ${counted(given.counts[index] ?? 0, 'row')}, and the table says ` +
            `${records}.`,
        );
    });
    return await caughtUp(engine.clickhouse, ['lake_rows'], () =>
      written(
        engine,
        { job, schema, order: orderOf(metadata), given, ...(left_out && { left_out }) },
        signal,
      ),
    );
  } finally {
    await dropJob(engine, job);
  }
}

/** Deletes the staged rows of a job. */
async function dropJob({ clickhouse }: Engine, job: string): Promise<void> {
  await clickhouse.command({
    query: 'ALTER TABLE lake_rows DROP PARTITION {job:UUID}',
    query_params: { job },
  });
}

/** Deletes the staged rows of killed jobs. */
export async function dropOtherJobs(engine: Engine): Promise<void> {
  const rows = await engine.clickhouse.rows<{ job: string }>({
    query: 'SELECT DISTINCT job FROM lake_rows',
  });
  if (rows.length === 0) return;
  // Read after the jobs: work claims its name before it stages rows.
  const claims = await engine.db.rows<{ claim_id: string }>(
    sql`SELECT claim_id FROM lake_maintenance WHERE claim_id IS NOT NULL
      UNION ALL SELECT claim_id FROM delta_maintenance WHERE claim_id IS NOT NULL`,
  );
  const jobs = new Set(claims.map(({ claim_id }) => claim_id));
  for (const { job } of rows) if (!jobs.has(job)) await dropJob(engine, job);
}

type Job = {
  job: string;
  schema: TableSchema;
  order: RowsOrder;
  given: ToldRows;
  left_out?: LeftOut;
};

async function written(
  engine: Engine,
  { job, schema, order, given, left_out }: Job,
  signal: AbortSignal,
): Promise<RewrittenRows> {
  const { clickhouse } = engine;
  const kept = keptRows(schema, left_out);
  const query_params = { job, ...kept.params };
  const from = `FROM lake_rows WHERE job = {job:UUID} AND ${kept.condition}`;
  const [row] = await clickhouse.rows<{ count: number | string }>({
    query: `SELECT count() AS count ${from}`,
    query_params,
    abort_signal: signal,
  });
  const records = Number(row!.count);
  const { sort_order_id } = order;
  if (records === 0) return { records, sort_order_id, file: undefined };
  const columns = schema.fields.map(columnOf);
  const {
    expressions: selected,
    format,
    settings,
  } = selectParquet(columns, { compression: 'zstd' });
  // A number refers to a column of the selection, whose value has its type there.
  const by = [...order.by.map(({ place, words }) => `${place + 1} ${words}`), 'number'].join(', ');
  const stream = await streamAnswer(
    clickhouse,
    {
      query: `SELECT ${selected} ${from} ORDER BY ${by} FORMAT ${format}`,
      query_params,
      clickhouse_settings: { ...settings, ...group_settings, ...sort_settings },
      abort_signal: signal,
    },
    { is_plain: true },
  );
  const { stage: stamping, finish } = stampParquet(idsOf(schema));
  const [bytes] = await Promise.all([buffer(stamping), pipeline(stream, stamping)]);
  const { sha256, statistics } = finish();
  const expected =
    left_out === undefined
      ? given.digest
      : (await tellRows(stagedRows(engine, from, query_params, signal))).digest;
  const names = schema.fields.map(({ name }) => name);
  const input = { bytes: Readable.from([bytes]), names };
  const found = await tellRows(readParquets([input]));
  if (found.counts[0] !== records || found.digest !== expected)
    throw new Error('A file that was written from others has other rows than these.');
  return { records, sort_order_id, file: { bytes, sha256, statistics } };
}

/** Returns the condition for the remaining rows. A row without a key stays. */
function keptRows({ fields }: TableSchema, left_out: LeftOut | undefined) {
  if (left_out === undefined) return { condition: '1', params: {} };
  const place = fields.findIndex(({ name }) => name === left_out.column) + 1;
  const { query, params } = erasureKeys(left_out);
  return { condition: `NOT ifNull(row[${place}] IN (${query}), 0)`, params };
}

function columnOf({ name, type }: SchemaField, index: number): Column {
  const of_type = column_types[String(type)]!;
  const text = `row[${index + 1}]`;
  const expression = expressions[of_type]?.(text) ?? text;
  return { name, type: of_type, nullable: true, expression };
}

/** Returns the ids of the table's own columns; others have no statistics. */
function idsOf({ fields }: TableSchema): Map<string, number> {
  const own = fields.filter((field) => !lineage_fields.includes(field));
  return new Map(own.map(({ name, id }) => [name, id]));
}

/** Stages rows in the analytics store as they arrive, and reports them. */
async function stage(
  { clickhouse }: Engine,
  job: string,
  given: AsyncIterable<{ rows: ValueRow[]; file: number }>,
  abort_signal: AbortSignal,
): Promise<ToldRows> {
  let told: ToldRows | undefined;
  const lines = async function* () {
    let number = 0;
    const teller = openTeller();
    for await (const { rows, file } of given) {
      teller.take(rows, file);
      for (const row of rows) {
        yield [job, number, row];
        number += 1;
      }
    }
    told = teller.finish();
  };
  await clickhouse.insert({
    table: 'lake_rows',
    values: Readable.from(lines()),
    format: 'JSONCompactEachRow',
    abort_signal,
  });
  return told!;
}

async function* stagedRows(
  { clickhouse }: Engine,
  from: string,
  query_params: Record<string, unknown>,
  abort_signal: AbortSignal,
): AsyncGenerator<{ rows: ValueRow[]; file: number }> {
  const result = await clickhouse.query({
    query: `SELECT row ${from}`,
    query_params,
    format: 'JSONCompactEachRow',
    abort_signal,
  });
  for await (const rows of result.stream<[ValueRow]>())
    yield { rows: rows.map((one) => one.json()[0]), file: 0 };
}
