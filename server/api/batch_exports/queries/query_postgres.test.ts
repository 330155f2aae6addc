import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { verifyExports } from '../../../engine/exports/verification/verify_exports.ts';
import { RetryableError } from '../../../engine/model/destination/errors.ts';
import { slice_encoding } from '../../../engine/destinations/bigquery/stage.ts';
import { destinationDeps } from '../../../engine/exports/engine.ts';
import { statuses } from '../../../../test/factories/batch_exports/query_deliveries.ts';
import { openProxiedPostgres } from '../../../../test/factories/batch_exports/proxied_postgres.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openProxiedPostgres);

const four_events = Array.from({ length: 4 }, (_, n) => ({
  event: `e${n}`,
  at: `2026-01-01T00:10:00.${String(n).padStart(6, '0')}Z`,
  properties: {},
}));

test('Postgres: a refused commit shows nothing, says so, and returns the selection', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, four_events.slice(0, 2));
  await postgres.pool.query(`CREATE TABLE refused (event text);
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too late'
      USING ERRCODE = '23514'; END $$;
    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON refused DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse()`);
  const refused = {
    destination: { type: 'Postgres', config: postgres.config('refused') },
    custom_query: 'SELECT event FROM events',
  };
  const created = await exporting.scheduled(home, refused, 1);
  const failed = (await exporting.runAll(created.id)).find((run) => run.error_code !== null)!;
  assert.deepEqual(
    [failed.status, failed.error_code, failed.records_completed],
    ['Failed', 'constraint_violated', 0],
  );
  assert.match(failed.latest_error!, /too late/);
  assert.doesNotMatch(failed.latest_error!, /may or may not/);
  const { deps } = exporting.harness;
  assert.deepEqual(
    await deps.db.row(
      sql`SELECT committing_at, "cursor" FROM batch_export_runs WHERE id = ${failed.id}`,
    ),
    {
      committing_at: null,
      cursor: null,
    },
  );
  await postgres.pool.query('DROP TRIGGER refuse ON refused');
  assert.equal((await created.send('POST', `runs/${failed.id}/retry/`)).status, 200);
  await exporting.runAll(created.id);
  assert.deepEqual((await postgres.pool.query('SELECT event FROM refused ORDER BY 1')).rows, [
    { event: 'e0' },
    { event: 'e1' },
  ]);
});

test('a row that the store does not write is the fault of the store, or of the stop', async () => {
  const engine = exporting.harness.deps.engine;
  const row = {
    columns: [{ name: 'amount', type: 'integer' as const, nullable: false, expression: 'amount' }],
    values: ['no number'],
  };
  const isFault = (error: unknown) =>
    error instanceof RetryableError &&
    error.code === 'store_fault' &&
    error.message.includes('ask the operator');
  await assert.rejects(
    destinationDeps(engine, new AbortController().signal).encodeRow!(row, slice_encoding),
    isFault,
  );
  await assert.rejects(
    destinationDeps(engine, AbortSignal.abort()).encodeRow!(row, slice_encoding),
    /^Error: The work was stopped\.$/,
  );
});

test("Postgres: the table has the query's columns; without a key numbers verify it", async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, four_events);
  const custom_query =
    'SELECT event AS uuid, length(event) AS "a ""name""", event = \'e1\' AS is_one, 1.5 AS f, ' +
    'timestamp, [event] AS list, properties.nothing AS nothing FROM events';
  const config = postgres.config('own');
  const body = { destination: { type: 'Postgres', config }, custom_query };
  const created = await exporting.scheduled(home, body, 1);
  const runs = await exporting.runAll(created.id);
  assert.deepEqual(statuses(runs), ['Completed 4']);
  const { rows } = await postgres.pool.query('SELECT * FROM own ORDER BY uuid LIMIT 2');
  assert.deepEqual(
    rows,
    [0, 1].map((n) => ({
      uuid: `e${n}`,
      'a "name"': '2',
      is_one: n === 1,
      f: 1.5,
      timestamp: new Date('2026-01-01T00:10:00.000Z'),
      list: [`e${n}`],
      nothing: null,
    })),
  );
  const verify = async () => {
    const [found] = await verifyExports(exporting.harness.deps.engine, created.id);
    assert.equal(found?.fault, null);
    return found.differences;
  };
  assert.deepEqual(await verify(), []);
  await postgres.pool.query("DELETE FROM own WHERE uuid = 'e1'");
  assert.deepEqual(
    (await verify()).map(({ kind }) => kind),
    ['missing'],
  );
});

test("Postgres: persons are merged by the model's own key, not by its mere name", async () => {
  const home = await exporting.harness.newOrganization();
  const version = (n: number) => ({
    distinct_id: `p${n % 2}`,
    at: `2026-01-01T0${Math.floor(n / 2)}:10:00Z`,
    version: n + 1,
  });
  await exporting.insert(home, [], [version(0), version(1), version(2)]);
  const cases = [
    {
      table: 'merged',
      custom_query: 'SELECT team_id, distinct_id, person_version, person_version AS n FROM persons',
      rows: ['p0 3', 'p1 2'],
    },
    {
      table: 'renamed',
      custom_query: "SELECT team_id, 'one' AS distinct_id, person_version AS n FROM persons",
      rows: ['one 1', 'one 2', 'one 3'],
    },
  ];
  for (const { table, custom_query, rows } of cases) {
    const body = {
      model: 'persons',
      destination: { type: 'Postgres', config: postgres.config(table) },
      custom_query,
    };
    const created = await exporting.scheduled(home, body, 2);
    const runs = await exporting.runAll(created.id);
    assert.deepEqual(statuses(runs), ['Completed 2', 'Completed 1']);
    const found = await postgres.pool.query<{ row: string }>(
      `SELECT distinct_id || ' ' || n AS row FROM ${table} ORDER BY 1`,
    );
    assert.deepEqual(
      found.rows.map(({ row }) => row),
      rows,
      table,
    );
  }
});
