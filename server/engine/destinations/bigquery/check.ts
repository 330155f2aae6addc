import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { runSteps } from '../../../platform/timed_steps.ts';
import type { Step } from '../../../platform/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { dropTable, findTable, openDataset } from './api.ts';
import type { Dataset } from './api.ts';
import { stage_prefix, targetOf } from './config.ts';
import type { BigQueryConfig } from './config.ts';
import { bigQueryError } from './faults.ts';
import { queryRows, resultOf, runStatement } from './jobs.ts';
import { loadConfiguration, makeScratchTable } from './stage.ts';
import { countQuery, doubleScript } from './statements.ts';
import { requireColumns, stageFields } from './table.ts';
import { uploadJob } from './upload.ts';

/** Tries what a delivery does with a scratch table beside the real one, which is removed again; the table of the export is looked at and not made. */
export async function checkBigQuery(config: BigQueryConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let opened: Dataset | undefined;
  const dataset = async () => (opened ??= await openDataset(config, deps));
  const scratch = `${stage_prefix}check_${randomBytes(6).toString('hex')}`;
  const results = await runSteps(stepsOf(config, columns, scratch, dataset), (error) => {
    const explained = bigQueryError(error, config);
    deps.log.info({ err: error }, 'connection test failed');
    return explained instanceof Error ? explained.message : 'BigQuery refused it.';
  });
  // A step after the making of the scratch table may have failed.
  if (opened !== undefined && results.some((step) => step.status === 'failed'))
    await dropTable(opened, scratch).catch((error: unknown) => deps.log.warn({ err: bigQueryError(error, config) }, 'a scratch table may be left behind'));
  return results;
}

function stepsOf(config: BigQueryConfig, columns: Column[], scratch: string, dataset: () => Promise<Dataset>): Step[] {
  const target = targetOf(config);
  const layout = { model: columns.some((column) => column.name === 'person_version') ? ('persons' as const) : ('events' as const), columns };
  return [
    { name: 'Connect', run: () => dataset().then(({ location }) => `Google let the service account in; the dataset is in ${location}.`) },
    {
      name: 'Check the table',
      run: async () => {
        const found = await findTable(await dataset(), target.table);
        if (found === undefined) return `${target.name} is not there; the first delivery makes it.`;
        requireColumns(await dataset(), layout, found);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const fields = stageFields(columns);
        await makeScratchTable(await dataset(), scratch, fields);
        const load = loadConfiguration(await dataset(), scratch, { sourceFormat: 'NEWLINE_DELIMITED_JSON', fields });
        await resultOf(await dataset(), await uploadJob(await dataset(), `load_${scratch}`, load, Readable.from([Buffer.from('{}\n')])));
        return 'A row was loaded into a scratch table.';
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
        for await (const row of queryRows<{ records: string }>(await dataset(), countQuery(config, scratch)))
          if (row.records === '2') return 'Both rows came back.';
        throw new Error('The scratch table does not hold the rows that were written.');
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
