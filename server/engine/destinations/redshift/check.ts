import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { tryOut } from '../../model/destination/try_out.ts';
import type { Step } from '../../model/destination/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { withStoreFaults } from '../object_store/faults.ts';
import { placeOf } from '../object_store/aws_role.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import { uploadWhole } from '../object_store/upload.ts';
import { quoted } from '../sql_tables/layout.ts';
import { requireSame, sampleLine, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { connect } from '../sql_tables/postgres_connection.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { accessOf, bucketOf, targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { nullMarker, stagedFolder } from './copy_stage.ts';
import { copyStatement, manifestOf, withoutSecrets } from './copy_statement.ts';
import { redshiftError } from './faults.ts';
import { writeReceipt } from './receipts.ts';
import { csvLine, insertsOf, rowsOf } from './rows.ts';
import type { Row } from './rows.ts';
import { prepareTables, showStatements, stage, stageStatement } from './table.ts';

/**
 * Does what a delivery of one row does, with the real tables, in a transaction that is rolled back,
 * so that nobody sees any of it; objects of the bucket are removed. What the table makes of the
 * values is read from the stage, which has its types.
 */
export async function checkRedshift(
  config: RedshiftConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const row = sampleRow(columns);
  const load = config.mode === 'COPY' ? openTrial(config, row, deps) : undefined;
  const steps = stepsOf(
    config,
    row,
    load,
    async () => (connection ??= await connect(accessOf(config), deps)),
  );
  try {
    return await tryOut(steps, deps, redshiftError, 'The cluster refused it.');
  } finally {
    // A step after the writing of the objects may have failed.
    await load
      ?.clear()
      .catch((error: unknown) =>
        deps.log.warn({ err: error }, 'objects of a connection test may be left behind'),
      );
    await connection?.close();
  }
}

function stepsOf(
  config: RedshiftConfig,
  row: SampleRow,
  load: Trial | undefined,
  connected: () => Promise<Connection>,
): Step[] {
  const { columns } = row;
  const target = targetOf(config);
  const sql = async (text: string) => (await connected()).rows<Record<string, unknown>>(text);
  let supers: ReadonlySet<string> = new Set();
  return [
    {
      name: 'Connect',
      run: () =>
        sql('BEGIN; SET statement_timeout TO 30000').then(() => 'The cluster let the user in.'),
    },
    {
      name: 'Check the table',
      run: async () => {
        supers = await prepareTables(await connected(), config, columns);
        return `${target.name} has the columns of the export or can be created.`;
      },
    },
    ...(load === undefined ? [] : [bucketStep(load)]),
    {
      name: 'Write a row',
      run: async () => {
        await sql(stageStatement(target.quoted, columns));
        if (load === undefined) await insertRow(await connected(), columns, supers, row);
        else await withoutSecrets(config, () => sql(load.statement));
        await show(await connected(), target, columns);
        await tryReceipt(await connected(), config);
        return (
          'The table took a row with a value in every column, as deliveries send it, and that ' +
          'of receipts a receipt.'
        );
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        requireSame(row, await readStage(await connected(), columns), target.name);
        return 'The same values came back.';
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
}

const bucketStep = (load: Trial): Step => ({
  name: 'Write to the bucket',
  run: () => load.put().then(() => 'An object was written.'),
});

/** Brings what the stage holds into the table. */
async function show(
  connection: Connection,
  target: { quoted: string; table: string },
  columns: Column[],
): Promise<void> {
  const layout = testedLayout(columns);
  for (const statement of showStatements(target.quoted, target.table, layout, stage))
    await connection.rows(statement);
}

type Trial = ReturnType<typeof openTrial>;

/** A load of the sample through the bucket. `clear` does nothing where nothing was written. */
function openTrial(config: RedshiftConfig, sample: SampleRow, deps: DestinationDeps) {
  const store = openBucket(placeOf(bucketOf(config), deps), deps.outbound, deps.signal);
  const id = `check-${randomBytes(6).toString('hex')}`;
  const folder = stagedFolder(config, id);
  const [key, manifest, null_marker] = [
    `${folder}row.csv.gz`,
    `${folder}manifest.json`,
    nullMarker(id),
  ];
  let is_written = false;
  return {
    statement: copyStatement(config, {
      target: stage,
      columns: sample.columns,
      manifest,
      null_marker,
    }),
    put: () =>
      withStoreFaults(store, async () => {
        is_written = true;
        const row = gzipSync(
          csvLine(
            await onlyRow(sample, new Set(sample.columns.map(({ name }) => name))),
            null_marker,
          ),
        );
        await uploadWhole(store, key, Readable.from([row]), { content_type: 'application/gzip' });
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

/** The sample as a delivery would send it. */
async function onlyRow(sample: SampleRow, supers: ReadonlySet<string>): Promise<Row> {
  const limit = { bytes: Infinity, advice: '' };
  for await (const row of rowsOf(
    sample.columns,
    supers,
    Readable.from([Buffer.from(sampleLine(sample))]),
    limit,
  ))
    return row;
  throw new Error('A sample is one row.');
}

async function insertRow(
  connection: Connection,
  columns: Column[],
  supers: ReadonlySet<string>,
  sample: SampleRow,
): Promise<void> {
  const rows = Readable.from([await onlyRow(sample, supers)]) as AsyncIterable<Row>;
  for await (const insert of insertsOf({ table: stage, columns, supers }, rows))
    await connection.rows(insert.text, insert.values);
}

async function tryReceipt(connection: Connection, config: RedshiftConfig): Promise<void> {
  const delivery = {
    delivery_id: randomUUID(),
    run_id: randomUUID(),
    batch_export_id: randomUUID(),
  };
  await writeReceipt(connection, config, { delivery, records: 1, text: '{}', is_repeat: false });
}

async function readStage(connection: Connection, columns: Column[]): Promise<unknown[]> {
  const list = columns.map(({ name }, index) => `${quoted(name)} AS c${index}`).join(', ');
  const [read] = await connection.rows<Record<string, unknown>>(`SELECT ${list} FROM ${stage}`);
  return columns.map((_, index) => read?.[`c${index}`]);
}
