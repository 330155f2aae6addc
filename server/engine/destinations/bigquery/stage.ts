import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { systemClock } from '../../../platform/clock.ts';
import { requireCame } from '../sql_tables/staged_sink.ts';
import type { Delivery, Slice, SliceOutcome } from '../../model/destination/destination.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import type { Column } from '../../model/models/column.ts';
import { dropTable, findTable, listTables, createTable, tableReference } from './api.ts';
import type { Dataset, Field } from './api.ts';
import { stage_prefix } from './config.ts';
import { cancelJob, findJob, isEnded, resultOf, startJob } from './jobs.ts';
import type { JobConfiguration } from './jobs.ts';
import { stageFields } from './table.ts';
import { uploadJob } from './upload.ts';

/** A staged slice: its table, and the job that loaded it. */
export type StageState = { table: string; job_id: string };

/** Encoding of a slice; `loadFile` accepts no other. */
export const slice_encoding: Encoding = { format: 'Parquet', compression: 'zstd', is_flat: true };

/** Lifetime of temporary tables that nobody removes: longer than all attempts of a run. */
const stage_milliseconds = 7 * 24 * 60 * 60 * 1000;
/**
 * Time for which a failed or stopped write waits for the removal of its leftovers; the next attempt
 * or `abort` removes the rest.
 */
const tidy_milliseconds = 5_000;
/**
 * More tables than this are first copied together: a query may read a thousand, and its text may
 * have 1 MB.
 */
const joined_tables_max = 100;
/** Most tables of one copy job, which may have 1,200. */
const copied_tables_max = 1_000;

/** Creates a table that BigQuery removes after a week. */
export async function createScratchTable(
  dataset: Dataset,
  table: string,
  fields: Field[],
): Promise<void> {
  await createTable(dataset, table, {
    schema: { fields },
    expirationTime: String(systemClock.now() + stage_milliseconds),
  });
}

/**
 * Returns the configuration of a job that loads a file into an existing empty table. It never
 * creates one, so a table that was removed to stop an attempt stays removed.
 */
export function loadConfiguration(
  dataset: Dataset,
  table: string,
  source: { sourceFormat: 'PARQUET' | 'NEWLINE_DELIMITED_JSON'; fields: Field[] },
): JobConfiguration {
  return {
    load: {
      destinationTable: tableReference(dataset.config, table),
      sourceFormat: source.sourceFormat,
      schema: { fields: source.fields },
      createDisposition: 'CREATE_NEVER',
      writeDisposition: 'WRITE_EMPTY',
    },
  };
}

/**
 * Creates a temporary table and loads a file of `slice_encoding` with these columns into it.
 * Returns the number of rows that BigQuery loaded.
 */
export async function loadFile(
  dataset: Dataset,
  table: string,
  columns: Column[],
  bytes: Readable,
): Promise<number> {
  const fields = stageFields(columns);
  await createScratchTable(dataset, table, fields);
  const job = await uploadJob(
    dataset,
    loadJob(table),
    loadConfiguration(dataset, table, { sourceFormat: 'PARQUET', fields }),
    bytes,
  );
  const { statistics } = await resultOf(dataset, job);
  return Number(statistics?.load?.outputRows ?? 0);
}

function loadJob(table: string): string {
  return `load_${table}`;
}

/** Returns the prefix of all stage tables of a delivery, of any attempt. */
function prefixOf(delivery: Delivery): string {
  return `${stage_prefix}${delivery.delivery_id.replaceAll('-', '')}_`;
}

/**
 * Returns the name of a stage table of this attempt only, so that a worker that was believed dead
 * cannot write to it. `part` distinguishes its tables.
 */
function stageName(delivery: Delivery, part: string): string {
  const attempt = createHash('sha256')
    .update(`${delivery.run_id} ${delivery.attempt}`)
    .digest('hex')
    .slice(0, 12);
  return `${prefixOf(delivery)}${attempt}_${part}`;
}

/**
 * Loads a slice's Parquet file into its own table. Rejects if the row count differs from the
 * source's; the table is then removed.
 */
export async function stageSlice(
  dataset: Dataset,
  delivery: Delivery,
  slice: Slice,
  bytes: Readable,
): Promise<StageState> {
  const table = stageName(delivery, String(slice.number));
  const state = { table, job_id: loadJob(table) };
  try {
    const loaded = await loadFile(dataset, table, delivery.columns, bytes);
    requireCame(slice, loaded, `BigQuery took ${loaded}`);
    return state;
  } catch (error) {
    const signal = AbortSignal.timeout(tidy_milliseconds);
    await Promise.allSettled([
      cancelJob(dataset, state.job_id, signal),
      dropTable(dataset, table, signal),
    ]);
    throw error;
  }
}

/**
 * Returns true if the slice is complete: its job loaded exactly these bytes, and the table still
 * has all rows.
 */
export async function isStaged(dataset: Dataset, outcome: SliceOutcome): Promise<boolean> {
  const state = outcome.state as StageState | null;
  if (state === null) return false;
  const job = await findJob(dataset, state.job_id);
  if (job === undefined || !isEnded(job) || job.status?.errorResult !== undefined) return false;
  if (Number(job.statistics?.load?.inputFileBytes) !== outcome.bytes) return false;
  return Number((await findTable(dataset, state.table))?.numRows) === outcome.records;
}

/**
 * Removes the stage tables of a delivery, of any attempt, except for the given ones: an attempt
 * that was believed dead can show nothing without its own.
 */
export async function dropStages(
  dataset: Dataset,
  delivery: Delivery,
  kept: ReadonlySet<string>,
): Promise<void> {
  for (const table of await listTables(dataset, prefixOf(delivery)))
    if (!kept.has(table)) await dropTable(dataset, table);
}

/**
 * Returns the tables that contain all slices in order: their own, or, if there are many, joint
 * copies of them, which BigQuery creates without reading a row.
 */
export async function joinedStages(
  dataset: Dataset,
  delivery: Delivery,
  outcomes: SliceOutcome[],
): Promise<string[]> {
  const tables = outcomes.map((outcome) => (outcome.state as StageState).table);
  if (tables.length <= joined_tables_max) return tables;
  const joined: string[] = [];
  for (let from = 0; from < tables.length; from += copied_tables_max) {
    const table = stageName(delivery, `joined_${from}`);
    await createScratchTable(dataset, table, stageFields(delivery.columns));
    const { job } = await startJob(dataset, `copy_${table}`, {
      copy: {
        sourceTables: tables
          .slice(from, from + copied_tables_max)
          .map((source) => tableReference(dataset.config, source)),
        destinationTable: tableReference(dataset.config, table),
        createDisposition: 'CREATE_NEVER',
        writeDisposition: 'WRITE_EMPTY',
      },
    });
    await resultOf(dataset, job);
    joined.push(table);
  }
  return joined;
}
