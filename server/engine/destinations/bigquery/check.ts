import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { tryOut } from '../../model/destination/try_out.ts';
import type { Step } from '../../model/destination/timed_steps.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { changedValues, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { dropTable, findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { stage_prefix, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryError } from './faults.ts';
import { queryRows, runStatement } from './jobs.ts';
import { loadFile, slice_encoding } from './stage.ts';
import { doubleScript, textsQuery } from './statements.ts';
import { requireColumns } from './table.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * Tries what a delivery does, up to the values that come back, with a scratch table beside the real
 * one, which is removed again; the table of the export is looked at and not created.
 */
export async function checkBigQuery(
  config: BigQueryConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let opened: Dataset | undefined;
  const dataset = async () => (opened ??= await openDataset(config, deps));
  const scratch = `${stage_prefix}check_${randomBytes(6).toString('hex')}`;
  const steps = stepsOf(
    config,
    { row: sampleRow(columns), encodeRow: deps.encodeRow },
    scratch,
    dataset,
  );
  const results = await tryOut(
    steps,
    deps,
    (error) => bigQueryError(error, config),
    'BigQuery refused it.',
  );
  // A step after the creation of the scratch table may have failed.
  if (opened !== undefined && results.some((step) => step.status === 'failed'))
    await dropTable(opened, scratch).catch((error: unknown) =>
      deps.log.warn({ err: bigQueryError(error, config) }, 'a scratch table may be left behind'),
    );
  return results;
}

/** The row of the test, and who makes a file of it. */
type Sample = { row: SampleRow } & Pick<DestinationDeps, 'encodeRow'>;

function stepsOf(
  config: BigQueryConfig,
  sample: Sample,
  scratch: string,
  dataset: () => Promise<Dataset>,
): Step[] {
  const target = targetOf(config);
  const layout = testedLayout(sample.row.columns);
  return [
    {
      name: 'Connect',
      run: async () => {
        const { location } = await dataset();
        return `Google let the service account in; the dataset is in ${location}.`;
      },
    },
    {
      name: 'Check the table',
      run: async () => {
        const found = await findTable(await dataset(), target.table);
        if (found === undefined) return `${target.name} is missing; the first delivery creates it.`;
        requireColumns(await dataset(), layout, found);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const file = Readable.from([await fileOf(sample)]);
        requireOne(await loadFile(await dataset(), scratch, layout.columns, file));
        return (
          'A row with a value in every column was loaded into a scratch table, in a file such ' +
          'as deliveries send.'
        );
      },
    },
    {
      name: 'Run a transaction',
      run: async () => {
        await runStatement(await dataset(), doubleScript(config, scratch));
        return 'A transaction wrote it once more.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const query = textsQuery(config, scratch, layout.columns);
        await requireBothRows(sample.row, queryRows(await dataset(), query));
        return 'The same values came back, in both rows.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await dropTable(await dataset(), scratch);
        return 'Nothing was left behind.';
      },
    },
  ];
}

function requireOne(loaded: number): void {
  if (loaded !== 1) throw otherNumber('took', loaded, 1);
}

async function requireBothRows(
  sample: SampleRow,
  read: AsyncIterable<Record<string, string | null>>,
): Promise<void> {
  const rows = await Array.fromAsync(read);
  if (rows.length !== 2) throw otherNumber('gave back', rows.length, 2);
  for (const row of rows) requireOwnValues(sample, row);
}

async function fileOf({ row, encodeRow }: Sample): Promise<Buffer> {
  if (encodeRow === undefined)
    throw new Error('A connection test of BigQuery needs the store that writes Parquet files.');
  return encodeRow(row, slice_encoding);
}

function otherNumber(done: string, found: number, expected: number): RetryableError {
  return new RetryableError(
    'count_mismatch',
    `BigQuery ${done} ${counted(found, 'row')} where there should be ${expected}. Test again; ` +
      `if it ` +
      `comes again, ask Google's support.`,
  );
}

/**
 * The scratch table has the types that stages have, so nothing about the table of the export can
 * mend what is changed here.
 */
function requireOwnValues(sample: SampleRow, row: Record<string, string | null>): void {
  const changed = changedValues(
    sample,
    sample.columns.map((_, index) => row[`c${index}`]),
  );
  if (changed === undefined) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `BigQuery changes values of the columns ${changed}, and would change those of deliveries. ` +
      `Leave these columns out with a query of your own, or ask Google's support.`,
  );
}
