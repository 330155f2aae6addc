import { randomBytes } from 'node:crypto';
import { runSteps } from '../../../platform/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import { identifier } from '../../formats/expression.ts';
import type { Column } from '../../models/column.ts';
import { inDatabase, targetOf } from './config.ts';
import type { ClickHouseConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { clickHouseError } from './faults.ts';
import { checkTable, findTable, tableStatement } from './table.ts';
import type { Layout } from './table.ts';

/** Tries what a delivery does with a scratch table beside the real one, which is removed again; the table of the export is looked at and not made. */
export async function checkClickHouse(config: ClickHouseConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const scratch = inDatabase(config, `sluice_check_${randomBytes(6).toString('hex')}`);
  try {
    const steps = stepsOf(config, columns, scratch, async () => (connection ??= await connect(config, deps)));
    return await runSteps(steps, (error) => {
      const explained = clickHouseError(error);
      deps.log.info({ err: error }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'The server refused it.';
    });
  } finally {
    // A step after the making of the scratch table may have failed.
    await connection
      ?.command(`DROP TABLE IF EXISTS ${scratch} SYNC`)
      .catch((error: unknown) => deps.log.warn({ err: error }, 'a scratch table was left behind'));
    await connection?.close();
  }
}

function stepsOf(config: ClickHouseConfig, columns: Column[], scratch: string, connected: () => Promise<Connection>) {
  const target = targetOf(config);
  const layout: Layout = { model: columns.some((column) => column.name === 'person_version') ? 'persons' : 'events', columns };
  return [
    { name: 'Connect', run: () => connected().then(() => 'The server let the user in.') },
    {
      name: 'Check the table',
      run: async () => {
        const connection = await connected();
        const found = await findTable(connection, config, target.table);
        if (found === undefined) return `${target.name} is not there; the first delivery makes it.`;
        await checkTable(connection, config, layout, found);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const connection = await connected();
        await connection.command(tableStatement(scratch, layout));
        await connection.command(`INSERT INTO ${scratch} (${identifier(columns[0]?.name ?? '')}) VALUES (DEFAULT)`);
        return 'A row was written to a scratch table.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const [row] = await (await connected()).rows<{ records: number }>(`SELECT count() AS records FROM ${scratch}`);
        if (row?.records !== 1) throw new Error('The scratch table does not hold the row that was written.');
        return 'The row came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await (await connected()).command(`DROP TABLE ${scratch} SYNC`);
        return 'Nothing was left behind.';
      },
    },
  ];
}
