import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { checkPlace, lookAtTable, readTexts } from '../sql_tables/trial/check_place.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { sampleRow } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { tryDeletes } from '../sql_tables/trial/try_deletes.ts';
import { dropTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { inDataset, stage_prefix } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryDialect } from './dialect.ts';
import { bigQueryError } from './faults.ts';
import { runStatement } from './jobs.ts';
import { loadFile, slice_encoding } from './stage.ts';
import { doubleScript } from './statements.ts';
import { counted } from '../../../platform/counted.ts';

type Session = Dialect & { dataset: Dataset };

/**
 * Tries a delivery's steps, up to reading the values back, with a scratch table beside the real
 * one, which is then removed. It checks the export's table and does not create it.
 */
export function checkBigQuery(
  config: BigQueryConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const scratch = `${stage_prefix}check_${randomBytes(6).toString('hex')}`;
  const row = sampleRow(columns, deps.merge);
  let is_there = false;
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const dataset = await openDataset(config, deps);
        return { ...bigQueryDialect(dataset), dataset };
      },
      begin: async ({ dataset: { location } }) =>
        `Google accepted the service account; the dataset is in ${location}.`,
      look: async (session) => {
        const { found, told } = await lookAtTable(session, row);
        is_there = found !== undefined;
        return told;
      },
      write: async ({ dataset }) => {
        const file = Readable.from([await fileOf(row, deps)]);
        requireRows('took', await loadFile(dataset, scratch, columns, file), 1);
        return (
          'A row with a value in every column was loaded into a scratch table, in a file such ' +
          'as deliveries send.'
        );
      },
      own: [
        {
          behind: 'Write a row',
          name: 'Run a transaction',
          run: async ({ dataset }) => {
            await runStatement(dataset, doubleScript(config, scratch));
            return 'A transaction wrote it once more.';
          },
        },
        ...tryDeletes<Session>(deps, {
          table: ({ target }) => (is_there ? target.quoted : inDataset(config, scratch)),
          grant: () =>
            'GRANT `roles/bigquery.dataEditor` ON SCHEMA ' +
            `\`${config.project_id}\`.\`${config.dataset_id}\` TO ` +
            `"serviceAccount:${config.client_email}"`,
        }),
      ],
      read: async (session) => {
        const read = await readTexts(session, inDataset(config, scratch), columns, []);
        requireRows('gave back', read.length, 2);
        return read;
      },
      changedError,
      remove: ({ dataset }) => dropTable(dataset, scratch),
      tidyUp: ({ dataset }) => dropTable(dataset, scratch),
    },
    { explained: (error) => bigQueryError(error, config), refused: 'BigQuery refused it.' },
    deps,
  );
}

async function fileOf(
  row: SampleRow,
  { encodeRow }: Pick<DestinationDeps, 'encodeRow'>,
): Promise<Buffer> {
  if (encodeRow === undefined)
    throw new Error('A connection test of BigQuery needs the store that writes Parquet files.');
  return encodeRow(row, slice_encoding);
}

function requireRows(done: string, found: number, expected: number): void {
  if (found === expected) return;
  throw new RetryableError(
    'count_mismatch',
    `BigQuery ${done} ${counted(found, 'row')} instead of ${expected}. Test again. If it ` +
      "happens again, ask Google's support.",
  );
}

/**
 * The scratch table has the types of stage tables, so no change of the export's table can fix an
 * altered value.
 */
function changedError(changed: string): NonRetryableError {
  return new NonRetryableError(
    'table_unsuitable',
    `BigQuery changes values of the columns ${changed}, so deliveries would lose data. Leave ` +
      `these columns out with your own query, or ask Google's support.`,
  );
}
