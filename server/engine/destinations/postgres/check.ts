import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { tryOut } from '../../model/destination/try_out.ts';
import type { Step } from '../../model/destination/timed_steps.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { CheckStep, Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { isMerged, person_key, quoted, columnList } from '../sql_tables/layout.ts';
import { connect } from '../sql_tables/postgres_connection.ts';
import type { Connection } from '../sql_tables/postgres_connection.ts';
import { postgresError } from '../sql_tables/postgres_faults.ts';
import { requireSame, sampleLine, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { requireRecords } from '../sql_tables/staged_sink.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { writeReceipt } from './receipts.ts';
import { canStage, copyRows } from './stage.ts';
import { prepareTables } from './table.ts';
import { beginTransaction } from './transaction.ts';

/**
 * Does what a delivery of one row does, with the real tables, in a transaction that is rolled back:
 * nobody sees any of it.
 */
export async function checkPostgres(
  config: PostgresConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  try {
    const steps = stepsOf(
      config,
      columns,
      async () => (connection ??= await connect(accessOf(config), deps)),
    );
    return await tryOut(steps, deps, postgresError, 'The server refused it.');
  } finally {
    await connection?.close();
  }
}

function stepsOf(
  config: PostgresConfig,
  columns: Column[],
  connected: () => Promise<Connection>,
): Step[] {
  const target = targetOf(config);
  const delivery = deliveryOf(columns);
  const row = sampleRow(columns);
  return [
    {
      name: 'Connect',
      run: async () => {
        await beginTransaction(await connected());
        await (
          await connected()
        ).rows("SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '30s'");
        return 'The server let the user in.';
      },
    },
    {
      name: 'Check the table',
      run: async () => {
        const warning = await prepareTables(await connected(), config, delivery);
        return warning ?? `${target.name} can take the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => writeRow(await connected(), target.quoted, delivery, row),
    },
    {
      name: 'Read it back',
      run: async () => {
        const found = await returnedRow(await connected(), target.quoted, delivery, row);
        requireSame(row, found, target.name);
        return 'The same values came back.';
      },
    },
    { name: 'Write a receipt', run: async () => tryReceipt(await connected(), config, delivery) },
    {
      name: 'Remove it',
      run: async () => {
        await (await connected()).rows('ROLLBACK');
        return 'Nothing was left behind.';
      },
    },
  ];
}

function deliveryOf(columns: Column[]): Delivery {
  const id = randomUUID();
  const [data_interval_start, data_interval_end] = ['2026-01-02T03:00:00Z', '2026-01-02T04:00:00Z'];
  return {
    ...testedLayout(columns),
    delivery_id: id,
    run_id: id,
    attempt: 1,
    batch_export_id: randomUUID(),
    team_id: 1,
    data_interval_start,
    data_interval_end,
    timezone: 'UTC',
  };
}

/**
 * As a delivery does, with COPY; what the table checks at the end of a transaction is checked at
 * once.
 */
async function writeRow(
  connection: Connection,
  target: string,
  delivery: Delivery,
  row: SampleRow,
): Promise<string> {
  await connection.rows('SAVEPOINT sluice_check');
  requireRecords(
    { number: 0, records: 1 },
    await copyRows(connection, target, delivery, Readable.from([Buffer.from(sampleLine(row))])),
  );
  await connection.rows('SET CONSTRAINTS ALL IMMEDIATE');
  if (!isMerged(delivery)) await connection.rows('ROLLBACK TO SAVEPOINT sluice_check');
  return 'The table took a row with a value in every column, as deliveries send it.';
}

/**
 * The row that the table makes of the sample, as texts. A person is found by its key; an event is
 * written once more, because a search for the one that COPY has written would read the whole table.
 */
async function returnedRow(
  connection: Connection,
  target: string,
  delivery: Delivery,
  row: SampleRow,
): Promise<unknown[]> {
  const texts = row.values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  const returned = delivery.columns
    .map(({ name }, index) => `t.${quoted(name)}::text AS c${index}`)
    .join(', ');
  const isSame = person_key.map(
    (name) =>
      `t.${quoted(name)} = ` +
      `'${row.values[delivery.columns.findIndex((column) => column.name === name)]}'`,
  );
  const statement = isMerged(delivery)
    ? `SELECT ${returned} FROM ${target} AS t WHERE ${isSame.join(' AND ')}`
    : `INSERT INTO ${target} AS t (${columnList(delivery.columns)}) VALUES (${texts})
      RETURNING ${returned}`;
  const [found] = await connection.rows<Record<string, unknown>>(statement);
  if (found === undefined)
    throw new NonRetryableError(
      'table_unsuitable',
      'A trigger or a rule of the table leaves rows out; remove it, or export to another table.',
    );
  return delivery.columns.map((_, index) => found[`c${index}`]);
}

async function tryReceipt(
  connection: Connection,
  config: PostgresConfig,
  delivery: Delivery,
): Promise<string> {
  const { receipts } = targetOf(config);
  await writeReceipt(connection, config, delivery, {
    records: 0,
    manifest: { name: 'manifest', text: '{}' },
    is_repeat: false,
  });
  const [rights] = await connection.rows<{ may_replace: boolean }>(
    "SELECT has_table_privilege($1, 'UPDATE') AS may_replace",
    [receipts],
  );
  const notes = [
    ...(rights?.may_replace === true
      ? []
      : [
          `Without UPDATE on ${receipts} a receipt cannot be replaced, should a delivery be ` +
            'repeated.',
        ]),
    ...((await canStage(connection, config))
      ? []
      : ['Without CREATE on the schema a crash repeats a whole delivery.']),
  ];
  return ['The receipt was written.', ...notes].join(' ');
}
