import { Readable } from 'node:stream';
import { runSteps } from '../../../platform/timed_steps.ts';
import { NonRetryableError } from '../../destination.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { quoted } from '../../sql_tables/layout.ts';
import { sampleLine, sampleRow, testedLayout } from '../../sql_tables/sample_row.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { snowflakeError } from './faults.ts';
import { openLoader, temporaryName, textColumn } from './load.ts';
import { checkTable, findTableKind, tableStatement, valueExpression } from './table.ts';
import type { TableColumns } from './table.ts';

/** Tries what a delivery does with a scratch table beside the real one, which is removed again; the table of the export is looked at and not made. */
export async function checkSnowflake(config: SnowflakeConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const scratch = quoted(temporaryName('check'));
  try {
    const steps = stepsOf(config, columns, scratch, async () => (connection ??= await connect(config, deps)));
    return await runSteps(steps, (error) => {
      const explained = snowflakeError(error);
      deps.log.info({ err: explained }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'Snowflake refused it.';
    });
  } finally {
    // A step after the making of the scratch table may have failed.
    await connection?.rows(`DROP TABLE IF EXISTS ${scratch}`).catch((error: unknown) => deps.log.warn({ err: error }, 'a scratch table may be left behind'));
    await connection?.close();
  }
}

function stepsOf(config: SnowflakeConfig, columns: Column[], scratch: string, connected: () => Promise<Connection>) {
  const target = targetOf(config);
  const layout = testedLayout(columns);
  let found: TableColumns | undefined;
  return [
    { name: 'Connect', run: () => connected().then(() => 'The account let the user in, with this role, warehouse, database and schema.') },
    {
      name: 'Check the table',
      run: async () => {
        if ((await findTableKind(await connected(), config, target.table)) === undefined) return `${target.name} is not there; the first delivery makes it.`;
        found = await checkTable(await connected(), config, layout);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const connection = await connected();
        await connection.rows(found === undefined ? tableStatement(scratch, columns) : `CREATE TEMPORARY TABLE ${scratch} LIKE ${target.quoted}`);
        const loader = await openLoader(connection);
        await loader.load(columns, Readable.from([Buffer.from(sampleLine(sampleRow(columns)))]));
        const types = found ?? new Map(columns.map(({ name, type }) => [name, type === 'json' ? 'VARIANT' : 'TEXT']));
        const values = columns.map((column, index) => valueExpression(column, textColumn(index), types));
        await connection.rows(
          `INSERT INTO ${scratch} (${columns.map(({ name }) => quoted(name)).join(', ')}) SELECT ${values.join(', ')} FROM ${loader.table}`,
        );
        return `A row with a value in every column was brought to a stage, and from there into a scratch table${found === undefined ? '' : ` like ${target.name}`}.`;
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const isWhole = columns.map(({ name }) => `${quoted(name)} IS NOT NULL`).join(' AND ');
        const [row] = await (await connected()).rows<{ records: number }>(`SELECT COUNT(*) AS "records" FROM ${scratch} WHERE ${isWhole}`);
        if (row?.records !== 1) throw new NonRetryableError('table_unsuitable', `${target.name} loses values of the row; look at the types of its columns.`);
        return 'The row came back with a value in every column.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await (await connected()).rows(`DROP TABLE ${scratch}`);
        return 'Nothing was left behind.';
      },
    },
  ];
}
