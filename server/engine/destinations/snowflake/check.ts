import { Readable } from 'node:stream';
import { runSteps } from '../../model/destination/timed_steps.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { quoted } from '../sql_tables/layout.ts';
import { changedValues, sampleLine, sampleRow, testedLayout } from '../sql_tables/sample_row.ts';
import type { SampleRow } from '../sql_tables/sample_row.ts';
import { targetOf } from './config.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { snowflakeError } from './faults.ts';
import { openLoader, temporaryName, textColumn } from './load.ts';
import {
  checkTable,
  findTableKind,
  tableStatement,
  textExpression,
  valueExpression,
} from './table.ts';
import type { TableColumns } from './table.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * Tries what a delivery does, up to the values that come back, with a scratch table beside the real
 * one, which is removed again; the table of the export is looked at and not created.
 */
export async function checkSnowflake(
  config: SnowflakeConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  let connection: Connection | undefined;
  const scratch = quoted(temporaryName('check'));
  try {
    const steps = stepsOf(
      config,
      columns,
      scratch,
      async () => (connection ??= await connect(config, deps)),
    );
    return await runSteps(steps, deps, (error) => {
      const explained = snowflakeError(error);
      deps.log.info({ err: explained }, 'connection test failed');
      return explained instanceof Error ? explained.message : 'Snowflake refused it.';
    });
  } finally {
    // A step after the creation of the scratch table may have failed.
    await connection
      ?.rows(`DROP TABLE IF EXISTS ${scratch}`)
      .catch((error: unknown) =>
        deps.log.warn({ err: error }, 'a scratch table may be left behind'),
      );
    await connection?.close();
  }
}

function stepsOf(
  config: SnowflakeConfig,
  columns: Column[],
  scratch: string,
  connected: () => Promise<Connection>,
) {
  const target = targetOf(config);
  const layout = testedLayout(columns);
  let found: TableColumns | undefined;
  let row = sampleRow(columns);
  // What a table that the first delivery creates would have.
  let types: TableColumns = new Map(
    columns.map(({ name, type }) => [name, type === 'json' ? 'VARIANT' : 'TEXT']),
  );
  return [
    {
      name: 'Connect',
      run: async () => {
        await connected();
        return 'The account let the user in, with this role, warehouse, database and schema.';
      },
    },
    {
      name: 'Check the table',
      run: async () => {
        const kind = await findTableKind(await connected(), target.table);
        if (kind === undefined) return `${target.name} is missing; the first delivery creates it.`;
        types = found = await checkTable(await connected(), layout, kind);
        row = fitted(row, types);
        return `${target.name} has the columns of the export.`;
      },
    },
    {
      name: 'Write a row',
      run: async () => {
        const like = found === undefined ? undefined : target.quoted;
        await writeRow(await connected(), row, types, { scratch, like });
        return (
          'A row with a value in every column was brought to a stage, and from there into a ' +
          `scratch table${found === undefined ? '' : ` like ${target.name}`}.`
        );
      },
    },
    {
      name: 'Read it back',
      run: async () => {
        const read = await readRow(await connected(), row, types, scratch);
        requireUnchanged(target.name, changedValues(row, read));
        return 'The same values came back.';
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

function requireUnchanged(table: string, changed: string | undefined): void {
  if (changed !== undefined)
    throw new NonRetryableError(
      'table_unsuitable',
      `The table ${table} changes values of the columns ${changed}; change their ` +
        'types, look at their masking policies, or export to another table.',
    );
}

/** A column of the type ARRAY makes a list of what is none, so it is given one. */
function fitted(row: SampleRow, types: TableColumns): SampleRow {
  const isList = row.columns.map(
    ({ name, type }) => type === 'json' && types.get(name) === 'ARRAY',
  );
  return {
    ...row,
    values: row.values.map((value, index) => (isList[index] === true ? `[${value}]` : value)),
  };
}

async function writeRow(
  connection: Connection,
  row: SampleRow,
  types: TableColumns,
  { scratch, like }: { scratch: string; like: string | undefined },
): Promise<void> {
  const { columns } = row;
  await connection.rows(
    like === undefined
      ? tableStatement(scratch, columns)
      : `CREATE TEMPORARY TABLE ${scratch} LIKE ${like}`,
  );
  const loader = await openLoader(connection);
  requireOne('took', await loader.load(columns, Readable.from([Buffer.from(sampleLine(row))])));
  const names = columns.map(({ name }) => quoted(name));
  const values = columns.map((column, index) => valueExpression(column, textColumn(index), types));
  await connection.rows(
    `INSERT INTO ${scratch} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${loader.table}`,
  );
}

async function readRow(
  connection: Connection,
  { columns }: SampleRow,
  types: TableColumns,
  scratch: string,
): Promise<unknown[]> {
  const texts = columns.map(
    (column, index) =>
      `${textExpression(column, `t.${quoted(column.name)}`, types)} AS "c${index}"`,
  );
  const found = await connection.rows<Record<string, unknown>>(
    `SELECT ${texts.join(', ')} FROM ${scratch} AS t`,
  );
  requireOne('gave back', found.length);
  return columns.map((_, index) => found[0]?.[`c${index}`]);
}

function requireOne(done: string, records: number): void {
  if (records !== 1)
    throw new RetryableError(
      'count_mismatch',
      `Snowflake ${done} ${counted(records, 'row')} where there should be one. Test again; if ` +
        `it comes ` +
        `again, ask Snowflake's support.`,
    );
}
