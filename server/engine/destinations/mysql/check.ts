import { Readable } from 'node:stream';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import {
  checkPlace,
  lookAtTable,
  readTexts,
  scratchName,
  testedDelivery,
} from '../sql_tables/trial/check_place.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { receipts_table, writeReceipt } from '../sql_tables/receipts.ts';
import { sampleLine, sampleRow, testedLayout } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { tryDeletes } from '../sql_tables/trial/try_deletes.ts';
import { inDatabase } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { mySqlDialect } from './dialect.ts';
import { mySqlError } from './faults.ts';
import { valueLists } from './rows.ts';
import { insertStatement, tableStatement } from './table.ts';

type Session = Dialect & { connection: Connection };

/**
 * Delivers one row to the real table, in a transaction that is rolled back. Reads the values back
 * from a scratch table of the same form, because a search for one row in the real one would read
 * all of it. If the table does not exist yet, everything happens in the scratch table.
 */
export function checkMySql(
  config: MySqlConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const row = sampleRow(columns, deps.merge);
  const scratch = inDatabase(config, scratchName());
  let found: FoundColumn[] | undefined;
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const connection = await connect(config, deps);
        return { ...mySqlDialect(connection), connection };
      },
      begin: async () => 'The server accepted the user.',
      look: async (session) => {
        const looked = await lookAtTable(session, row);
        found = looked.found;
        return looked.told;
      },
      write: async (session) => {
        if (found !== undefined) return writeUnseen(session, row);
        const { connection } = session;
        await connection.run(await tableStatement(connection, scratch, testedLayout(row)));
        await writeRow(connection, scratch, row);
        return 'A scratch table accepted a row with values in all columns, as deliveries send it.';
      },
      read: async (session) => {
        const { connection, target } = session;
        if (found !== undefined) {
          if (!(await createTemporary(connection, scratch, target.quoted)))
            return 'Nothing was compared: that needs the privilege CREATE TEMPORARY TABLES.';
          await writeRow(connection, scratch, row);
        }
        return readTexts(session, scratch, columns, []);
      },
      own: tryDeletes<Session>(deps, {
        table: ({ target }) => (found === undefined ? scratch : target.quoted),
        grant: ({ connection }, table) =>
          grantOf(connection, table === scratch ? wholeDatabase(config) : table),
      }),
      remove: async ({ connection }) => {
        const temporary = found === undefined ? '' : 'TEMPORARY ';
        await connection.run(`DROP ${temporary}TABLE IF EXISTS ${scratch}`);
      },
      // The session ends its own temporary table; dropping the other one needs a right that a user
      // without that table may lack.
      tidyUp: async ({ connection }) => {
        await connection.run('ROLLBACK').catch(() => undefined);
        await connection.run(`DROP TABLE IF EXISTS ${scratch}`);
      },
    },
    { explained: mySqlError, refused: 'The server refused it.' },
    deps,
  );
}

const wholeDatabase = (config: MySqlConfig) => inDatabase(config, '*').replace('`*`', '*');

/** Returns the statement that lets the user of the session delete rows. */
async function grantOf(connection: Connection, on: string): Promise<string> {
  const [row] = await connection.rows<{ user: string }>('SELECT CURRENT_USER() AS user');
  const [, user = '', host = '%'] = /^(.*)@(.*?)$/.exec(row?.user ?? '') ?? [];
  return `GRANT DELETE ON ${on} TO ${connection.escape(user)}@${connection.escape(host)}`;
}

async function writeRow(connection: Connection, table: string, row: SampleRow): Promise<void> {
  const { columns } = row;
  const layout: Layout = testedLayout(row);
  const { before, after } = insertStatement(table, layout);
  const { escape, statement_bytes_max } = connection;
  const limits = { bytes: statement_bytes_max, row_bytes: statement_bytes_max };
  const line = Readable.from([Buffer.from(sampleLine(row))]);
  for await (const { text } of valueLists(columns, line, { escape, before: '' }, limits))
    await connection.run(`${before}VALUES ${text}${after}`);
}

/** False if the user lacks the right, which no delivery needs. */
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

/** Writes row and receipt like a delivery, but nobody sees them. */
async function writeUnseen(session: Session, row: SampleRow): Promise<string> {
  const { connection, target } = session;
  const hasReceipts = (await session.findColumns(receipts_table)) !== undefined;
  await connection.run('START TRANSACTION');
  await connection.rows(`SELECT 1 FROM ${target.quoted} LIMIT 0`);
  await writeRow(connection, target.quoted, row);
  if (hasReceipts)
    await writeReceipt(session, testedDelivery(row), {
      records: 1,
      text: '{}',
      is_repeat: false,
    });
  await connection.run('ROLLBACK');
  return (
    'The table accepted a row with a value in every column, as deliveries send ' +
    `it${hasReceipts ? ', and that of receipts a receipt' : ''}.`
  );
}
