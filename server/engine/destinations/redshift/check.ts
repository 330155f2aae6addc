import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { runSteps } from '../../../platform/timed_steps.ts';
import type { Step } from '../../../platform/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { withStoreFaults } from '../../object_store/faults.ts';
import { openBucket } from '../../object_store/s3_bucket.ts';
import { uploadParts } from '../../object_store/upload.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { accessOf, bucketOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { copyStatement, manifestOf, nullMarker, stagedFolder, withoutSecrets } from './copy_stage.ts';
import { redshiftError } from './faults.ts';
import { csvLine } from './rows.ts';
import { prepareTables, tableStatement } from './table.ts';

const scratch = 'sluice_check';

/** Tries everything that a delivery does, with a temporary table beside the real one, and rolls it all back; objects of the bucket are removed. */
export async function checkRedshift(config: RedshiftConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const connected = async () => (connection ??= await connect(accessOf(config), deps));
  const sql = async (text: string) => (await connected()).rows<Record<string, unknown>>(text);
  const target = targetOf(config);
  const load = config.mode === 'COPY' ? openTrial(config, columns, deps) : undefined;
  const steps: Step[] = [
    { name: 'Connect', run: () => sql('BEGIN; SET statement_timeout TO 30000').then(() => 'The cluster let the user in.') },
    {
      name: 'Check the table',
      run: async () => {
        await prepareTables(await connected(), config, columns);
        return `${target.name} has the columns of the export or can be made.`;
      },
    },
    ...(load === undefined ? [] : [{ name: 'Write to the bucket', run: () => load.put().then(() => 'An object was written.') }]),
    {
      name: 'Write a row',
      run: async () => {
        await sql(tableStatement('CREATE TEMPORARY TABLE', scratch, config, columns));
        if (load === undefined) await sql(`INSERT INTO ${scratch} DEFAULT VALUES`);
        else await withoutSecrets(config, () => sql(load.statement));
        return 'A row was written to a temporary table.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const [row] = await sql(`SELECT COUNT(*) AS records FROM ${scratch}`);
        if (Number(row?.['records']) !== 1) throw new Error('The temporary table does not hold the row that was written.');
        return 'The row came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await sql('ROLLBACK');
        await load?.clear();
        return 'Nothing was left behind.';
      },
    },
  ];
  try {
    return await runSteps(steps, (error) => {
      const explained = redshiftError(error);
      deps.log.info({ err: error }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'The cluster refused it.';
    });
  } finally {
    // A step after the writing of the objects may have failed.
    await load?.clear().catch((error: unknown) => deps.log.warn({ err: error }, 'objects of a connection test may be left behind'));
    await connection?.close();
  }
}

/** A load of one row of nulls through the bucket. `clear` does nothing where nothing was written. */
function openTrial(config: RedshiftConfig, columns: Column[], deps: DestinationDeps) {
  const store = openBucket(bucketOf(config), deps.outbound, deps.signal);
  const id = `check-${randomBytes(6).toString('hex')}`;
  const folder = stagedFolder(config, id);
  const [key, manifest, null_marker] = [`${folder}row.csv.gz`, `${folder}manifest.json`, nullMarker(id)];
  let is_written = false;
  return {
    statement: copyStatement(config, { target: scratch, columns, manifest, null_marker }),
    put: () =>
      withStoreFaults(store, async () => {
        is_written = true;
        const facts = { mark: id, content_type: 'application/gzip' };
        const uploadId = await store.startUpload(key, facts);
        const row = gzipSync(csvLine({ values: columns.map(() => null), size_bytes: 0 }, null_marker));
        await store.completeUpload(key, uploadId, await uploadParts(store, key, uploadId, Readable.from([row])), facts);
        await store.put(manifest, manifestOf(config, [key]));
      }),
    clear: () =>
      withStoreFaults(store, async () => {
        if (!is_written) return;
        for (const one of [key, manifest]) await store.remove(one);
        await store.endUploads(folder, []);
        is_written = false;
      }),
  };
}
