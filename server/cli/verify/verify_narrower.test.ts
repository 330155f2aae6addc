import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeIdentifier } from 'pg';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { mariaDbMissing, openMariaDb } from '../../../test/servers/databases/mariadb_server.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import type { Finding } from '../../engine/exports/verification/verify_exports.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

/** Exports two events with a fraction of a second and of a number, and verifies the table. */
async function verified(destination: object, change?: () => Promise<unknown>): Promise<Finding> {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [
    { event: 'one', at: '2026-01-01T00:10:00.250000Z', properties: { price: 1.125 } },
    { event: 'two', at: '2026-01-01T00:20:00.500000Z', properties: { price: 0.1 + 0.2 } },
  ]);
  const custom_query =
    'SELECT uuid, event, timestamp, toFloat64OrNull(properties.price) AS price FROM events';
  const body = { name: 'table', custom_query, destination };
  const { id } = await exporting.scheduled(home, body, 1);
  const runs = await exporting.runAll(id);
  assert.deepEqual(
    runs.map(({ status, latest_error }) => latest_error ?? status),
    ['Completed'],
  );
  await change?.();
  const [finding] = await verifyExports(exporting.harness.deps.engine, id);
  assert.equal(finding?.fault, null);
  return finding;
}

/** By column, which values differ. */
function columnsOf({ differences }: Finding): string[] {
  return differences.map((one) => ('column' in one ? `${one.column}` : one.kind)).toSorted();
}

const told = (table: string, losses: string) => [
  `The table ${table} keeps less than the export sends: ${losses}. Widen the columns, or ` +
    'export to another table. Values of these columns can differ for that reason alone.',
];

test('columns of PostgreSQL that keep less are named beside the rows that differ', async () => {
  const config = await postgres.freshConfig();
  const table = `${config.schema}.mine`;
  const destination = { type: 'Postgres', config: { ...config, table_name: 'mine' } };
  await postgres.pool.query(`CREATE TABLE ${table} (uuid uuid, event text,
    timestamp timestamptz(0), price numeric(10,1))`);
  const finding = await verified(destination);
  assert.deepEqual(columnsOf(finding), ['price', 'price', 'timestamp', 'timestamp']);
  assert.deepEqual(
    finding.notes,
    told(
      table,
      'the column timestamp is timestamp(0) with time zone and loses the fraction of the second; ' +
        'the column price is numeric(10,1) and loses decimals after 1 place',
    ),
  );
});

test('a value that somebody changed in a table with wide columns has no such cause', async (t) => {
  const config = await postgres.freshConfig();
  const digits = `ALTER DATABASE ${escapeIdentifier(config.database)} SET extra_float_digits`;
  // A server of somebody else may show floats with few digits.
  await postgres.pool.query(`${digits} = -15`);
  t.after(() => postgres.pool.query(`${digits} = DEFAULT`));
  const { differences, notes } = await verified({ type: 'Postgres', config }, () =>
    postgres.pool.query(`UPDATE ${config.schema}.events SET price = 7 WHERE event = 'one'`),
  );
  assert.deepEqual(
    differences.map(({ detail }) => detail),
    ['The column price was delivered as 1.125 and is 7.'],
  );
  assert.deepEqual(notes, []);
});

test('columns of MariaDB that keep less are named as well', { skip: mariaDbMissing }, async (t) => {
  const server = await openMariaDb();
  t.after(() => server.close());
  const admin = await server.admin();
  t.after(() => admin.end());
  await admin.query('CREATE DATABASE place');
  await admin.query(`CREATE TABLE place.mine (uuid char(36), event longtext, timestamp datetime,
    price int) ENGINE = InnoDB`);
  const { user, password, port } = server;
  const config = {
    user,
    password,
    port,
    host: '127.0.0.1',
    database: 'place',
    table_name: 'mine',
    has_self_signed_cert: true,
  };
  const finding = await verified({ type: 'MySQL', config });
  assert.deepEqual(columnsOf(finding), ['price', 'price', 'timestamp', 'timestamp']);
  assert.deepEqual(
    finding.notes,
    told(
      'place.mine',
      'the column timestamp is datetime and loses the fraction of the second; the column price ' +
        'is int(11) and loses its decimals',
    ),
  );
});
