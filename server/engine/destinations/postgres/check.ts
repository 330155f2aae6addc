import { randomBytes } from 'node:crypto';
import { runSteps } from '../../../platform/timed_steps.ts';
import type { CheckStep, DestinationDeps } from '../../destination.ts';
import type { Column } from '../../models/column.ts';
import { quoted } from '../../sql_tables/layout.ts';
import { connect } from '../../sql_tables/postgres_connection.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { postgresError } from '../../sql_tables/postgres_faults.ts';
import { accessOf, targetOf } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { prepareTables, tableStatement } from './table.ts';

/** Tries everything that a delivery does, with a scratch table beside the real one, and rolls it all back. */
export async function checkPostgres(config: PostgresConfig, columns: Column[], deps: DestinationDeps): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const sql = async (text: string) => (connection === undefined ? [] : connection.rows<Record<string, unknown>>(text));
  const target = targetOf(config);
  const model = columns.some((column) => column.name === 'person_version') ? 'persons' : 'events';
  const scratch = `${quoted(target.schema)}.${quoted(`sluice_check_${randomBytes(6).toString('hex')}`)}`;
  const steps = [
    {
      name: 'Connect',
      run: async () => {
        connection = await connect(accessOf(config), deps);
        await sql("BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = '30s'");
        return 'The server let the user in.';
      },
    },
    {
      name: 'Check the table',
      run: async () => {
        if (connection !== undefined) await prepareTables(connection, config, { model, columns });
        return `${target.name} has the columns of the export or can be made.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        await sql(tableStatement(scratch, { model: 'events', columns }));
        await sql(`INSERT INTO ${scratch} DEFAULT VALUES`);
        return 'A row was written to a scratch table.';
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const rows = await sql(`SELECT count(*)::int AS rows FROM ${scratch}`);
        if (rows[0]?.['rows'] !== 1) throw new Error('The scratch table does not hold the row that was written.');
        return 'The row came back.';
      },
    },
    {
      name: 'Remove it',
      run: async () => {
        await sql(`DROP TABLE ${scratch}`);
        await sql('ROLLBACK');
        return 'Nothing was left behind.';
      },
    },
  ];
  try {
    return await runSteps(steps, (error) => {
      const explained = postgresError(error);
      deps.log.info({ err: error }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'The server refused it.';
    });
  } finally {
    await connection?.close();
  }
}
