import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import {
  checkPlace,
  lookAtTable,
  readTexts,
  scratchName,
} from '../sql_tables/trial/check_place.ts';
import type { Dialect } from '../sql_tables/dialect.ts';
import type { FoundColumn } from '../sql_tables/fitting.ts';
import { sampleLine, sampleRow, testedLayout } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { compressionTo, inDatabase } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { clickHouseDialect } from './dialect.ts';
import { clickHouseError } from './faults.ts';
import { identifier } from '../formats/expression.ts';
import { grantedOr } from '../sql_tables/trial/try_deletes.ts';
import { requireExchange } from './replace.ts';
import { insertSlice } from './slices.ts';
import { createStage } from './stage.ts';
import { getTable, tableStatement } from './table.ts';
import type { Table } from './table.ts';

type Session = Dialect & { connection: Connection };

/**
 * Tries a delivery's steps with a scratch table like the real one, which is then removed. It checks
 * the export's table and does not create it.
 */
export function checkClickHouse(
  config: ClickHouseConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const scratch = scratchName();
  const name = inDatabase(config, scratch);
  const row = sampleRow(columns, deps.merge);
  let found: FoundColumn[] | undefined;
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const connection = await connect(config, deps);
        return { ...clickHouseDialect(connection), connection };
      },
      begin: async () => 'The server accepted the user.',
      look: async (session) => {
        const looked = await lookAtTable(session, row);
        found = looked.found;
        if (found === undefined) return looked.told;
        return `${looked.told}${passedBy(await getTable(session.connection))}`;
      },
      write: async ({ connection, target }) => {
        const like = found === undefined ? undefined : await getTable(connection);
        await writeRow(connection, scratch, like, row);
        return (
          `A scratch table${like === undefined ? '' : ` like ${target.name}`} took a row with ` +
          'a value in every column, as deliveries send it.'
        );
      },
      own: deps.replaces === true ? [exchangeStep(config, scratch)] : [],
      read: (session) => readTexts(session, name, columns, found ?? []),
      remove: ({ connection }) => connection.command(`DROP TABLE ${name} SYNC`),
      tidyUp: async ({ connection }) => {
        await connection.command(`DROP TABLE IF EXISTS ${inDatabase(config, `${scratch}_next`)}`);
        await connection.command(`DROP TABLE IF EXISTS ${name} SYNC`);
      },
    },
    { explained: clickHouseError, refused: 'The server refused it.' },
    deps,
  );
}

/** Exchanges two scratch tables and deletes no row of one, like a delivery that replaces. */
function exchangeStep(config: ClickHouseConfig, scratch: string) {
  const [one, other] = [scratch, `${scratch}_next`].map((table) => inDatabase(config, table));
  const run = async (session: Session) => {
    const { connection, target } = session;
    if ((await session.findColumns(target.table)) !== undefined) await requireExchange(connection);
    await grantedOr(session, () => grantOf(config), {
      what: 'exchange tables and delete receipts',
      work: async () => {
        await connection.command(`CREATE TABLE ${other} AS ${one}`);
        await connection.command(`EXCHANGE TABLES ${one} AND ${other}`);
        await connection.command(`EXCHANGE TABLES ${one} AND ${other}`);
        await connection.command(`ALTER TABLE ${other} DELETE WHERE 0 SETTINGS mutations_sync = 2`);
        await connection.command(`DROP TABLE ${other} SYNC`);
      },
    });
    return 'Two scratch tables were exchanged, as replacing the table does.';
  };
  return { behind: 'Write a row', name: 'Exchange tables', run };
}

function grantOf(config: ClickHouseConfig): string {
  return (
    'GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE, ALTER TABLE ON ' +
    `${identifier(config.database ?? 'default')}.* TO ${identifier(config.user ?? 'default')}`
  );
}

/** Lists the views that a delivery bypasses, because it links its parts into the table. */
function passedBy({ views }: Table): string {
  if (views.length === 0) return '';
  return (
    ` Materialized views (${views.join(', ')}) read inserted rows, and deliveries link parts ` +
    'instead. These views get no rows. Refresh them on a schedule (REFRESH).'
  );
}

/** Writes a row to the scratch table, which is created like another one. */
async function writeRow(
  connection: Connection,
  scratch: string,
  like: Table | undefined,
  row: SampleRow,
): Promise<void> {
  const { columns } = row;
  const layout = testedLayout(row);
  if (like === undefined)
    await connection.command(tableStatement(inDatabase(connection.config, scratch), layout));
  else await createStage(connection, like, layout, { table: scratch, id: randomUUID() });
  const text = textOf(row);
  const bytes =
    compressionTo(connection.config) === null ? Buffer.from(text) : zstdCompressSync(text);
  await insertSlice({ connection, delivery: { columns } }, scratch, Readable.from([bytes]));
}

function textOf(row: SampleRow): string {
  const names = row.columns.map(({ name }) =>
    name.replaceAll(/[\\\t\n]/g, (character) => escapes[character]!),
  );
  return `${names.join('\t')}\n${sampleLine(row)}`;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n' };
