import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parquetMetadata } from 'hyparquet';
import { buffer } from 'node:stream/consumers';
import { counted } from '../../../platform/counted.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { streamAnswer } from '../../../platform/clickhouse/answer.ts';
import { readParquets } from '../../destinations/formats/read_parquet.ts';
import type { ParquetInput } from '../../destinations/formats/read_parquet.ts';
import { selectParquet } from '../../destinations/formats/parquet.ts';
import type { FileStatistics } from '../../destinations/lake/file_statistics.ts';
import type { SchemaField, TableSchema } from '../../destinations/lake/schema.ts';
import { stampParquet } from '../../destinations/lake/stamp_parquet.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import type { Column, ColumnType } from '../../model/models/column.ts';
import type { Engine } from '../engine.ts';
import { readNamed } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';

/** The types of columns that this server writes files with. */
const column_types: Record<string, ColumnType> = {
  string: 'text',
  timestamptz: 'timestamp',
  long: 'integer',
  double: 'float',
  boolean: 'boolean',
  date: 'date',
  'decimal(38, 9)': 'decimal',
};

/** ClickHouse text of a value of a column, of its text as a file was read. */
const expressions: Partial<Record<ColumnType, (text: string) => string>> = {
  timestamp: (text) => `parseDateTime64BestEffort(${text}, 6, 'UTC')`,
};

/**
 * Blocks of the table are whole granules, and a row group takes up to twice its size: so that it is
 * never larger than those of exports (50,000 rows), which the reader asks for.
 */
const group_settings = { max_block_size: '16384', output_format_parquet_row_group_size: '20000' };

/** A data file to read, with the rows that its manifest says. */
export type SourceFile = { path: string; records: number };

/** Rows that are left out: those with one of the keys of an erasure in a column. */
export type LeftOut = { erasure_id: string; kind: string; column: string };

/** The rows that stay of some files, and the file with them; undefined without a row. */
export type RewrittenRows = {
  records: number;
  file: { bytes: Buffer; sha256: string; statistics: FileStatistics } | undefined;
};

/** The table whose files are read, and where the rows are meanwhile. */
export type RewritingWork = Pick<MaintainedTable, 'engine' | 'job' | 'signal'> & {
  files: Pick<TableFiles, 'read'>;
};

/** The rows to write: of these files, whose columns are found by their ids or names. */
export type WantedRows = {
  schema: TableSchema;
  sources: SourceFile[];
  left_out?: LeftOut;
  by_name?: boolean;
};

/** Rows cannot be written again; the message is a sentence. */
export class UnfitFilesError extends Error {
  override readonly name = 'UnfitFilesError';
}

/** Why files of a table with this schema cannot be written by this server; undefined: they can. */
export function whyUnfit({ fields }: TableSchema): string | undefined {
  const unfit = fields.find(({ type }) => column_types[String(type)] === undefined);
  return unfit && `The column "${unfit.name}" has the type ${JSON.stringify(unfit.type)}.`;
}

/**
 * Writes the rows of files into one, in their order, without those that are left out. Guarantee:
 * what is given holds exactly the rows that were read: their number and the digest of their values
 * were compared with what the new file says when it is read again. Throws `UnfitFilesError` for a
 * file that this server cannot read exactly.
 */
export async function rewriteRows(
  { engine, files, job, signal }: RewritingWork,
  { schema, sources, left_out, by_name = false }: WantedRows,
): Promise<RewrittenRows> {
  const why = whyUnfit(schema);
  if (why !== undefined) throw new UnfitFilesError(why);
  try {
    const given = await stage(
      engine,
      job,
      readParquets(inputsOf(files, schema.fields, sources, by_name)),
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
      written(engine, { job, schema, given, ...(left_out && { left_out }) }, signal),
    );
  } finally {
    await dropJob(engine, job);
  }
}

/** Drops the rows of a piece of work. */
async function dropJob({ clickhouse }: Engine, job: string): Promise<void> {
  await clickhouse.command({
    query: 'ALTER TABLE lake_rows DROP PARTITION {job:UUID}',
    query_params: { job },
  });
}

/** Drops the rows of work that is no more: a process that was killed leaves some. */
export async function dropOtherJobs(
  engine: Engine,
  listJobs: (engine: Engine) => Promise<string[]>,
): Promise<void> {
  const rows = await engine.clickhouse.rows<{ job: string }>({
    query: 'SELECT DISTINCT job FROM lake_rows',
  });
  if (rows.length === 0) return;
  // Afterwards: work claims its name before it has rows.
  const jobs = new Set(await listJobs(engine));
  for (const { job } of rows) if (!jobs.has(job)) await dropJob(engine, job);
}

type Told = { counts: number[]; digest: string };
type Job = {
  job: string;
  schema: TableSchema;
  given: Told;
  left_out?: LeftOut;
};

async function written(
  engine: Engine,
  { job, schema, given, left_out }: Job,
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
  if (records === 0) return { records, file: undefined };
  const columns = schema.fields.map(columnOf);
  const {
    expressions: selected,
    format,
    settings,
  } = selectParquet(columns, { compression: 'zstd' });
  const stream = await streamAnswer(
    clickhouse,
    {
      query: `SELECT ${selected} ${from} ORDER BY number FORMAT ${format}`,
      query_params,
      clickhouse_settings: { ...settings, ...group_settings },
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
      : await digestOf(stagedRows(engine, `${from} ORDER BY number`, query_params, signal));
  const names = schema.fields.map(({ name }) => name);
  const input = { bytes: Readable.from([bytes]), names };
  const found = await tell(readParquets([input]));
  if (found.counts[0] !== records || found.digest !== expected)
    throw new Error('A file that was written from others has other rows than these.');
  return { records, file: { bytes, sha256, statistics } };
}

/** The rows that stay. A row without a key stays. */
function keptRows({ fields }: TableSchema, left_out: LeftOut | undefined) {
  if (left_out === undefined) return { condition: '1', params: {} };
  const { erasure_id, kind, column } = left_out;
  const place = fields.findIndex(({ name }) => name === column) + 1;
  return {
    condition: `NOT ifNull(row[${place}] IN (SELECT key FROM erasing_rows
      WHERE erasure_id = {erasure_id:UUID} AND kind = {kind:String}), 0)`,
    params: { erasure_id, kind },
  };
}

function columnOf({ name, type }: SchemaField, index: number): Column {
  const of_type = column_types[String(type)]!;
  const text = `row[${index + 1}]`;
  const expression = expressions[of_type]?.(text) ?? text;
  return { name, type: of_type, nullable: true, expression };
}

function idsOf({ fields }: TableSchema): Map<string, number> {
  return new Map(fields.map(({ name, id }) => [name, id]));
}

/**
 * Files as they are read: by the ids of the fields, because columns may have had other names, or by
 * their names in a format that has no ids.
 */
export async function* inputsOf(
  files: Pick<TableFiles, 'read'>,
  fields: SchemaField[],
  sources: readonly { path: string }[],
  by_name = false,
): AsyncGenerator<ParquetInput> {
  for (const { path } of sources) {
    const bytes = await readNamed(files, path);
    yield { bytes: Readable.from([bytes]), names: namesIn(path, bytes, fields, by_name) };
  }
}

/** The names of the fields in a file; null for one that it lacks. */
function namesIn(
  path: string,
  bytes: Buffer,
  fields: SchemaField[],
  by_name: boolean,
): (string | null)[] {
  const tail = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const [, ...elements] = parquetMetadata(tail as ArrayBuffer).schema;
  if (by_name) {
    // Its nanoseconds would be cut.
    if (elements.some(({ type, num_children }) => type === 'INT96' || num_children !== undefined))
      throw new UnfitFilesError(`The file ${path} has nested columns, or instants of 96 bits.`);
    const own = new Set(elements.map(({ name }) => name));
    return fields.map(({ name }) => (own.has(name) ? name : null));
  }
  const by_id = new Map<number, string>();
  for (const { name, field_id, num_children } of elements) {
    if (field_id === undefined || num_children !== undefined)
      throw new UnfitFilesError(`The file ${path} has columns without ids, or nested ones.`);
    by_id.set(field_id, name);
  }
  return fields.map(({ id }) => by_id.get(id) ?? null);
}

/** Puts rows into the analytics store as they come, and tells them. */
async function stage(
  { clickhouse }: Engine,
  job: string,
  given: AsyncIterable<{ rows: ValueRow[]; file: number }>,
  abort_signal: AbortSignal,
): Promise<Told> {
  let told: Told | undefined;
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

function openTeller() {
  const hash = createHash('sha256');
  const counts: number[] = [];
  return {
    take(rows: ValueRow[], file: number) {
      counts[file] = (counts[file] ?? 0) + rows.length;
      for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
    },
    finish: (): Told => ({ counts, digest: hash.digest('hex') }),
  };
}

async function tell(given: AsyncIterable<{ rows: ValueRow[]; file: number }>): Promise<Told> {
  const teller = openTeller();
  for await (const { rows, file } of given) teller.take(rows, file);
  return teller.finish();
}

async function digestOf(rows: AsyncIterable<ValueRow[]>): Promise<string> {
  const teller = openTeller();
  for await (const some of rows) teller.take(some, 0);
  return teller.finish().digest;
}

async function* stagedRows(
  { clickhouse }: Engine,
  from: string,
  query_params: Record<string, unknown>,
  abort_signal: AbortSignal,
): AsyncGenerator<ValueRow[]> {
  const result = await clickhouse.query({
    query: `SELECT row ${from}`,
    query_params,
    format: 'JSONCompactEachRow',
    abort_signal,
  });
  for await (const rows of result.stream<[ValueRow]>()) yield rows.map((one) => one.json()[0]);
}
