import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { zstdCompressSync } from 'node:zlib';
import { tryOut } from '../../model/destination/try_out.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import { identifier } from '../formats/expression.ts';
import type { Column } from '../../model/models/column.ts';
import type { Layout } from '../sql_tables/layout.ts';
import { requireSame, sampleLine, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { inDatabase, targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { clickHouseError } from './faults.ts';
import { insertSlice } from './slices.ts';
import { checkTable, findTable, createStage, tableStatement } from './table.ts';
import type { Table } from './table.ts';

/**
 * Tries what a delivery does with a scratch table like the real one, which is removed again; the
 * table of the export is looked at and not created.
 */
export async function checkClickHouse(
  config: ClickHouseConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const scratch = `sluice_check_${randomBytes(6).toString('hex')}`;
  try {
    const steps = stepsOf(
      config,
      columns,
      scratch,
      async () => (connection ??= await connect(config, deps)),
    );
    return await tryOut(steps, deps, clickHouseError, 'The server refused it.');
  } finally {
    // A step after the creation of the scratch table may have failed.
    await connection
      ?.command(`DROP TABLE IF EXISTS ${inDatabase(config, scratch)} SYNC`)
      .catch((error: unknown) => deps.log.warn({ err: error }, 'a scratch table was left behind'));
    await connection?.close();
  }
}

function stepsOf(
  config: ClickHouseConfig,
  columns: Column[],
  scratch: string,
  connected: () => Promise<Connection>,
) {
  const target = targetOf(config);
  const layout = testedLayout(columns);
  const row = sampleRow(columns);
  let found: Table | undefined;
  return [
    { name: 'Connect', run: () => connected().then(() => 'The server let the user in.') },
    {
      name: 'Check the table',
      run: async () => {
        const connection = await connected();
        found = await findTable(connection, target.table);
        if (found === undefined) return `${target.name} is missing; the first delivery creates it.`;
        await checkTable(connection, layout, found);
        return `${target.name} has the columns of the export.${passedBy(found)}`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        await writeRow({ connection: await connected(), scratch, found }, row, layout);
        return (
          `A scratch table${found === undefined ? '' : ` like ${target.name}`} took a row with ` +
          'a value in every column, as deliveries send it.'
        );
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        requireSame(row, await readRow(await connected(), scratch, columns), target.name);
        return 'The same values came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await (await connected()).command(`DROP TABLE ${inDatabase(config, scratch)} SYNC`);
        return 'Nothing was left behind.';
      },
    },
  ];
}

/** The views that a delivery passes by, as it links its parts into the table. */
function passedBy({ views }: Table): string {
  if (views.length === 0) return '';
  return (
    ` Materialized views read what is inserted into it (${views.join(', ')}), and get none of ` +
    'the rows: deliveries link parts. Let them read from it at their own time (REFRESH).'
  );
}

/** A row in the scratch table, which is created like the one that was found. */
async function writeRow(
  at: {
    connection: Connection;
    scratch: string;
    found: Table | undefined;
  },
  row: SampleRow,
  layout: Layout,
): Promise<void> {
  const { connection, scratch, found } = at;
  if (found === undefined)
    await connection.command(tableStatement(inDatabase(connection.config, scratch), layout));
  else await createStage(connection, found, { table: scratch, id: randomUUID() });
  await insertSlice(
    { connection, delivery: { columns: row.columns } },
    scratch,
    { number: 0, records: 1 },
    Readable.from([zstdCompressSync(textOf(row))]),
  );
}

async function readRow(
  connection: Connection,
  scratch: string,
  columns: Column[],
): Promise<unknown[]> {
  const list = columns.map(({ name }, index) => `${identifier(name)} AS c${index}`).join(', ');
  const [read] = await connection.rows<Record<string, unknown>>(
    `SELECT ${list} FROM ${inDatabase(connection.config, scratch)}
      SETTINGS date_time_output_format = 'iso'`,
  );
  return columns.map((_, index) => read?.[`c${index}`]);
}

function textOf(row: SampleRow): string {
  const names = row.columns.map(({ name }) =>
    name.replaceAll(/[\\\t\n]/g, (character) => escapes[character]!),
  );
  return `${names.join('\t')}\n${sampleLine(row)}`;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n' };
