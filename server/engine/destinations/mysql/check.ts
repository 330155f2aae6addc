import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { tryOut } from '../../model/destination/try_out.ts';
import type { Step } from '../../model/destination/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { requireSame, sampleLine, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { inDatabase, quoted, targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { mySqlError } from './faults.ts';
import { valueLists } from './rows.ts';
import { checkTable, insertStatement, tableExists, tableStatement } from './table.ts';

/**
 * Does what a delivery of one row does: in the real table, in a transaction that is rolled back.
 * What the table makes of the values is read from a scratch table like it, because a look for one
 * row in the real one would read all of it. Where the table is not there yet, everything is done
 * with the scratch table.
 */
export async function checkMySql(
  config: MySqlConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const scratch = inDatabase(config, `sluice_check_${randomBytes(6).toString('hex')}`);
  try {
    return await tryOut(
      stepsOf(config, columns, scratch, async () => (connection ??= await connect(config, deps))),
      deps,
      mySqlError,
      'The server refused it.',
    );
  } finally {
    // A step after the creation of the scratch table may have failed. One of the session alone goes
    // with it; to drop the other needs a right that a user without that table may lack.
    await connection?.run('ROLLBACK').catch(() => undefined);
    await connection
      ?.run(`DROP TABLE IF EXISTS ${scratch}`)
      .catch((error: unknown) =>
        deps.log.info({ err: error }, 'a scratch table may be left behind'),
      );
    await connection?.close();
  }
}

function stepsOf(
  config: MySqlConfig,
  columns: Column[],
  scratch: string,
  connected: () => Promise<Connection>,
): Step[] {
  const target = targetOf(config);
  const layout = testedLayout(columns);
  const row = sampleRow(columns);
  const write = (connection: Connection, table: string) =>
    writeRow(connection, insertStatement(table, layout), row);
  let isThere = false;
  return [
    { name: 'Connect', run: () => connected().then(() => 'The server let the user in.') },
    {
      name: 'Check the table',
      run: async () => {
        isThere = await tableExists(await connected(), target.table);
        const warning = isThere ? await checkTable(await connected(), layout) : undefined;
        return isThere
          ? (warning ?? `${target.name} can take the columns of the export.`)
          : `${target.name} is missing; the first delivery creates it.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const connection = await connected();
        if (isThere) return writeUnseen(connection, () => write(connection, target.quoted));
        await connection.run(await tableStatement(connection, scratch, layout));
        await write(connection, scratch);
        return 'A scratch table took a row with a value in every column, as deliveries send it.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const connection = await connected();
        if (isThere) {
          if (!(await createTemporary(connection, scratch, target.quoted)))
            return 'Nothing was compared: that needs the right CREATE TEMPORARY TABLES.';
          await write(connection, scratch);
        }
        requireSame(row, await readRow(connection, scratch, columns), target.name);
        return 'The same values came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await (
          await connected()
        ).run(`DROP ${isThere ? 'TEMPORARY ' : ''}TABLE IF EXISTS ${scratch}`);
        return 'Nothing was left behind.';
      },
    },
  ];
}

async function writeRow(
  connection: Connection,
  { before, after }: { before: string; after: string },
  row: SampleRow,
): Promise<void> {
  const { escape, statement_bytes_max } = connection;
  const limits = { bytes: statement_bytes_max, row_bytes: statement_bytes_max };
  const line = Readable.from([Buffer.from(sampleLine(row))]);
  for await (const { text } of valueLists(row.columns, line, { escape, before: '' }, limits))
    await connection.run(`${before}VALUES ${text}${after}`);
}

async function readRow(
  connection: Connection,
  scratch: string,
  columns: Column[],
): Promise<unknown[]> {
  const texts = columns.map(({ name }, index) => `CAST(${quoted(name)} AS CHAR) AS c${index}`);
  const [found] = await connection.rows<Record<string, unknown>>(
    `SELECT ${texts.join(', ')} FROM ${scratch}`,
  );
  return columns.map((_, index) => found?.[`c${index}`]);
}

/** False where the user has not the right, which no delivery needs. */
async function createTemporary(
  connection: Connection,
  scratch: string,
  target: string,
): Promise<boolean> {
  try {
    await connection.run(`CREATE TEMPORARY TABLE ${scratch} LIKE ${target}`);
    return true;
  } catch (error) {
    if (
      ['ER_DBACCESS_DENIED_ERROR', 'ER_TABLEACCESS_DENIED_ERROR'].includes(
        String((error as { code?: unknown }).code),
      )
    )
      return false;
    throw error;
  }
}

/** Row and receipt, as a delivery writes them, and nobody sees either. */
async function writeUnseen(connection: Connection, write: () => Promise<void>): Promise<string> {
  const { receipts, name } = connection.target;
  const hasReceipts = await tableExists(connection, 'sluice_receipts');
  await connection.run('START TRANSACTION');
  await connection.rows(`SELECT 1 FROM ${connection.target.quoted} LIMIT 0`);
  await write();
  if (hasReceipts)
    await connection.run(
      `INSERT INTO ${receipts} (delivery_id, batch_export_id, run_id, table_name, records, manifest)
        VALUES (?, ?, ?, ?, 1, '{}')`,
      [randomUUID(), randomUUID(), randomUUID(), name],
    );
  await connection.run('ROLLBACK');
  return (
    'The table took a row with a value in every column, as deliveries send ' +
    `it${hasReceipts ? ', and that of receipts a receipt' : ''}.`
  );
}
