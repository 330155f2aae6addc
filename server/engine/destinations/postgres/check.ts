import { Readable } from 'node:stream';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { CheckStep, Delivery, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { checkPlace, testedDelivery } from '../sql_tables/trial/check_place.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import { columnList, isMerged, mergeOf, quoted } from '../sql_tables/layout.ts';
import { connect } from '../sql_tables/postgres/connection.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { postgresError } from '../sql_tables/postgres/faults.ts';
import { prepareTables } from '../sql_tables/prepare.ts';
import { writeReceipt } from '../sql_tables/receipts.ts';
import { sampleLine, sampleRow } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { requireRecords } from '../sql_tables/staged_sink.ts';
import { tryUserDeletes } from '../sql_tables/trial/try_deletes.ts';
import { accessOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { postgresDialect } from './dialect.ts';
import { canStage, copyRows } from './stage.ts';
import { beginTransaction } from './transaction.ts';

type Session = Dialect & { connection: Connection };

/** Delivers one row to the real tables in a transaction that is rolled back, so nobody sees it. */
export function checkPostgres(
  config: PostgresConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const row = sampleRow(columns, deps.merge);
  const delivery = testedDelivery(row);
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const connection = await connect(accessOf(config), deps);
        return { ...postgresDialect(connection, config), connection };
      },
      begin: async ({ connection }) => {
        await beginTransaction(connection);
        await connection.rows(
          "SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '30s'",
        );
        return 'The server accepted the user.';
      },
      look: async (session) => {
        const { warning } = await prepareTables(session, delivery);
        return warning ?? `${session.target.name} can take the columns of the export.`;
      },
      write: (session) => writeRow(session, delivery, row),
      read: async (session) => [await returnedRow(session, delivery, row)],
      own: [
        ...tryUserDeletes<Session>(deps, config.user),
        {
          behind: 'Read it back',
          name: 'Write a receipt',
          run: (session) => tryReceipt(session, config, delivery),
        },
      ],
      remove: async ({ rows }) => void (await rows('ROLLBACK')),
    },
    { explained: postgresError, refused: 'The server refused it.' },
    deps,
  );
}

/** Uses COPY like a delivery; deferred constraints are checked at once. */
async function writeRow(
  { connection, target }: Session,
  delivery: Delivery,
  row: SampleRow,
): Promise<string> {
  await connection.rows('SAVEPOINT sluice_check');
  const line = Readable.from([Buffer.from(sampleLine(row))]);
  requireRecords(
    { number: 0, records: 1 },
    await copyRows(connection, target.quoted, delivery, line),
  );
  await connection.rows('SET CONSTRAINTS ALL IMMEDIATE');
  if (!isMerged(delivery)) await connection.rows('ROLLBACK TO SAVEPOINT sluice_check');
  return 'The table accepted a row with a value in every column, as deliveries send it.';
}

/**
 * Returns the stored row of the sample, as texts. A person is found by its key; an event is
 * inserted once more, because a search for the one from COPY would read the whole table.
 */
async function returnedRow(
  { rows, target }: Session,
  delivery: Delivery,
  row: SampleRow,
): Promise<unknown[]> {
  const texts = row.values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ');
  const returned = delivery.columns
    .map(({ name }, index) => `t.${quoted(name)}::text AS c${index}`)
    .join(', ');
  const isSame = (mergeOf(delivery)?.key ?? []).map(
    (name) =>
      `t.${quoted(name)} = ` +
      `'${row.values[delivery.columns.findIndex((column) => column.name === name)]}'`,
  );
  const statement = isMerged(delivery)
    ? `SELECT ${returned} FROM ${target.quoted} AS t WHERE ${isSame.join(' AND ')}`
    : `INSERT INTO ${target.quoted} AS t (${columnList(delivery.columns)}) VALUES (${texts})
      RETURNING ${returned}`;
  const [found] = await rows<Record<string, unknown>>(statement);
  if (found === undefined)
    throw new NonRetryableError(
      'table_unsuitable',
      'A trigger or a rule of the table drops rows; remove it, or export to another table.',
    );
  return delivery.columns.map((_, index) => found[`c${index}`]);
}

async function tryReceipt(
  session: Session,
  config: PostgresConfig,
  delivery: Delivery,
): Promise<string> {
  const { receipts } = session.target;
  await writeReceipt(session, delivery, { records: 0, text: '{}', is_repeat: false });
  const [rights] = await session.rows<{ may_replace: boolean }>(
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
    ...((await canStage(session.connection, config))
      ? []
      : ['Without CREATE on the schema a crash repeats a whole delivery.']),
  ];
  return ['The receipt was written.', ...notes].join(' ');
}
