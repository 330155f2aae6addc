import { randomBytes } from 'node:crypto';
import { runSteps } from '../../../platform/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { inDatabase, targetOf } from './config.ts';
import type { MySqlConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { mySqlError } from './faults.ts';
import { checkTable, tableExists, tableStatement } from './table.ts';

/** Tries what a delivery does with a scratch table beside the real one, which is removed again; the table of the export is looked at and not made. */
export async function checkMySql(config: MySqlConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const connected = async () => (connection ??= await connect(config, deps));
  const target = targetOf(config);
  const scratch = inDatabase(config, `sluice_check_${randomBytes(6).toString('hex')}`);
  const layout = { model: columns.some((column) => column.name === 'person_version') ? ('persons' as const) : ('events' as const), columns };
  const steps = [
    { name: 'Connect', run: () => connected().then(() => 'The server let the user in.') },
    {
      name: 'Check the table',
      run: async () => {
        const isThere = await tableExists(await connected(), config, target.table);
        if (!isThere) return `${target.name} is not there; the first delivery makes it.`;
        await checkTable(await connected(), config, layout);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const { run } = await connected();
        await run(await tableStatement(await connected(), scratch, { model: 'events', columns }));
        await run(`INSERT INTO ${scratch} () VALUES ()`);
        return 'A row was written to a scratch table.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const [row] = await (await connected()).rows<{ records: number }>(`SELECT COUNT(*) AS records FROM ${scratch}`);
        if (row?.records !== 1) throw new Error('The scratch table does not hold the row that was written.');
        return 'The row came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await (await connected()).run(`DROP TABLE ${scratch}`);
        return 'Nothing was left behind.';
      },
    },
  ];
  try {
    return await runSteps(steps, (error) => {
      const explained = mySqlError(error);
      deps.log.info({ err: error }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'The server refused it.';
    });
  } finally {
    // A step after the making of the scratch table may have failed.
    await connection?.run(`DROP TABLE IF EXISTS ${scratch}`).catch((error: unknown) => deps.log.warn({ err: error }, 'a scratch table may be left behind'));
    await connection?.close();
  }
}
