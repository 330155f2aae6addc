import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { withStoreFaults } from '../object_store/faults.ts';
import { placeOf } from '../object_store/aws_role.ts';
import { openBucket } from '../object_store/s3_bucket.ts';
import { uploadWhole } from '../object_store/upload.ts';
import { checkPlace, readTexts, testedDelivery } from '../sql_tables/trial/check_place.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { writeReceipt } from '../sql_tables/receipts.ts';
import { sampleLine, sampleRow, testedLayout } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { accessOf, bucketOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { nullMarker, stagedFolder } from './copy_stage.ts';
import { copyStatement, manifestOf, withoutSecrets } from './copy_statement.ts';
import { redshiftDialect } from './dialect.ts';
import { redshiftError } from './faults.ts';
import { csvLine, insertsOf, rowsOf } from './rows.ts';
import type { Row } from './rows.ts';
import { tryUserDeletes } from '../sql_tables/trial/try_deletes.ts';
import { showStatements, stage, stageStatement, supersOf } from './table.ts';

type Session = Dialect & { connection: Connection };

/**
 * Delivers one row to the real tables in a transaction that is rolled back, so that nobody sees it;
 * objects in the bucket are removed. Reads the values back from the stage, which has the table's
 * types.
 */
export function checkRedshift(
  config: RedshiftConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const row = sampleRow(columns, deps.merge);
  const load = config.mode === 'COPY' ? openTrial(config, row, deps) : undefined;
  const delivery = testedDelivery(row);
  let found: FoundColumn[] = [];
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const connection = await connect(accessOf(config), deps);
        return { ...redshiftDialect(connection, config), connection };
      },
      begin: async ({ connection }) => {
        await connection.rows('BEGIN; SET statement_timeout TO 30000');
        return 'The cluster accepted the user.';
      },
      look: async (session) => {
        ({ found } = await prepareTables(session, delivery));
        return `${session.target.name} can take the columns of the export.`;
      },
      own: [
        ...(load === undefined
          ? []
          : [
              {
                behind: 'Check the table',
                name: 'Write to the bucket',
                run: () => load.put().then(() => 'An object was written.'),
              },
            ]),
        ...tryUserDeletes<Session>(deps, config.user),
      ],
      write: async (session) => {
        const { connection, target } = session;
        await connection.rows(stageStatement(target.quoted, columns));
        if (load === undefined) await insertRow(connection, columns, supersOf(columns, found), row);
        else await withoutSecrets(config, () => connection.rows(load.statement));
        await show(connection, target, row);
        await writeReceipt(session, delivery, { records: 1, text: '{}', is_repeat: false });
        return (
          'The table accepted a row with a value in every column, as deliveries send it. The ' +
          'receipts table accepted a receipt.'
        );
      },
      read: (session) => readTexts(session, stage, columns, found),
      remove: async ({ connection }) => {
        await connection.rows('ROLLBACK');
        await load?.clear();
      },
      tidyUp: async () => load?.clear(),
    },
    { explained: redshiftError, refused: 'The cluster refused it.' },
    deps,
  );
}

/** Moves the stage's rows into the table. */
async function show(
  connection: Connection,
  target: { quoted: string; table: string },
  row: SampleRow,
): Promise<void> {
  const layout = testedLayout(row);
  for (const statement of showStatements(target, layout, stage)) await connection.rows(statement);
}

/** Loads the sample through the bucket. `clear` does nothing if nothing was written. */
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

/** Returns the sample as a delivery would send it. */
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
