import { Readable } from 'node:stream';
import { RetryableError } from '../../model/destination/errors.ts';
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
import { quoted } from '../sql_tables/layout.ts';
import { sampleLine, sampleRow, testedLayout } from '../sql_tables/trial/sample_row.ts';
import type { SampleRow } from '../sql_tables/trial/sample_row.ts';
import { tryDeletes } from '../sql_tables/trial/try_deletes.ts';
import type { SnowflakeConfig } from './config.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { snowflakeDialect } from './dialect.ts';
import { snowflakeError } from './faults.ts';
import { openLoader, textColumn } from './load.ts';
import { tableStatement, typesOf, valueExpression } from './table.ts';
import { counted } from '../../../platform/counted.ts';

type Session = Dialect & { connection: Connection };

/**
 * Tries a delivery's steps, up to reading the values back, with a scratch table beside the real
 * one, which is then removed. It checks the export's table and does not create it.
 */
export function checkSnowflake(
  config: SnowflakeConfig,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const scratch = quoted(scratchName());
  const row = sampleRow(columns, deps.merge);
  let like: string | undefined;
  // The columns of the table that the first delivery would create.
  let found: FoundColumn[] = columns.map(({ name, type }) => ({
    name,
    type: type === 'json' ? 'VARIANT' : 'TEXT',
  }));
  return checkPlace<Session>(
    {
      row,
      connect: async () => {
        const connection = await connect(config, deps);
        return { ...snowflakeDialect(connection), connection };
      },
      begin: async () =>
        'The account accepted the user, with this role, warehouse, database and schema.',
      look: async (session) => {
        const looked = await lookAtTable(session, row);
        if (looked.found === undefined) return looked.told;
        found = looked.found;
        like = session.target.quoted;
        Object.assign(row, fitted(row, found));
        return looked.told;
      },
      write: async (session) => {
        await writeRow(session.connection, row, found, { scratch, like });
        return (
          'A row with a value in every column was uploaded to a stage, and copied from ' +
          'there into a scratch ' +
          `table${like === undefined ? '' : ` like ${session.target.name}`}.`
        );
      },
      own: tryDeletes<Session>(deps, {
        table: ({ target }) => (like === undefined ? scratch : target.quoted),
        grant: async ({ rows }, table) => {
          const [row] = await rows<{ role: string }>('SELECT CURRENT_ROLE() AS "role"');
          return `GRANT DELETE ON TABLE ${table} TO ROLE ${quoted(row?.role ?? '')}`;
        },
      }),
      read: async (session) => {
        const read = await readTexts(session, scratch, columns, found);
        requireOne('gave back', read.length);
        return read;
      },
      remove: async ({ rows }) => void (await rows(`DROP TABLE ${scratch}`)),
      tidyUp: async ({ rows }) => void (await rows(`DROP TABLE IF EXISTS ${scratch}`)),
    },
    { explained: snowflakeError, refused: 'Snowflake refused it.' },
    deps,
  );
}

/**
 * Returns the row for a table: a column of the type ARRAY wraps other values in a list, so it gets
 * a list.
 */
function fitted(row: SampleRow, found: FoundColumn[]): SampleRow {
  const types = typesOf(found);
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
  found: FoundColumn[],
  { scratch, like }: { scratch: string; like: string | undefined },
): Promise<void> {
  const { columns } = row;
  await connection.rows(
    like === undefined
      ? tableStatement(scratch, testedLayout(row))
      : `CREATE TEMPORARY TABLE ${scratch} LIKE ${like}`,
  );
  const loader = await openLoader(connection);
  requireOne('took', await loader.load(columns, Readable.from([Buffer.from(sampleLine(row))])));
  const names = columns.map(({ name }) => quoted(name));
  const types = typesOf(found);
  const values = columns.map((column, index) => valueExpression(column, textColumn(index), types));
  await connection.rows(
    `INSERT INTO ${scratch} (${names.join(', ')}) SELECT ${values.join(', ')} FROM ${loader.table}`,
  );
}

function requireOne(done: string, records: number): void {
  if (records !== 1)
    throw new RetryableError(
      'count_mismatch',
      `Snowflake ${done} ${counted(records, 'row')} instead of one. Test again. If it ` +
        "happens again, ask Snowflake's support.",
    );
}
