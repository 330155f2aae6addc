import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verifyExports } from '../../exports/verification/verify_exports.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { openTestStores } from '../../../../test/harness_stores.ts';
import { accessTo, poolOf } from '../../../../test/servers/databases/embedded_postgres.ts';
import { openPgBouncer, pgBouncerMissing } from '../../../../test/servers/databases/pgbouncer.ts';
import { projectBase } from '../../../../test/factories/batch_exports/batch_exports.ts';

const exporting = aroundTests(openQueryHarness);
const stores = aroundTests(() => openTestStores({ clickhouse: false }));

const custom_query = `SELECT uuid, timestamp, toFloat64OrNull(properties.price) AS price,
  toInt64OrNull(properties.big) AS big, properties FROM events`;

for (const pool_mode of ['session', 'transaction'] as const)
  test(
    `rows come through PgBouncer in ${pool_mode} mode as they are`,
    { skip: pgBouncerMissing },
    async (t) => {
      const pool = poolOf(stores.database_url);
      t.after(() => pool.end());
      const {
        rows: [{ name }],
      } = await pool.query('SELECT quote_ident(current_database()) AS name');
      for (const setting of [
        "timezone = 'Asia/Kolkata'",
        "DateStyle = 'German'",
        'extra_float_digits = -15',
      ])
        await pool.query(`ALTER DATABASE ${name} SET ${setting}`);
      const pooler = await openPgBouncer(stores.database_url, pool_mode);
      t.after(() => pooler.close());
      const table_name = `by_${pool_mode}`;
      const access = accessTo(stores.database_url, pooler.port);
      const config = { ...access, table_name, require_tls: false };
      const home = await exporting.harness.newOrganization();
      await exporting.insert(home, [
        {
          event: 'a day of two digits',
          at: '2026-01-01T00:10:00.250001Z',
          properties: { price: 0.1 + 0.2, big: '9007199254740993', text: 'ü "quoted"\\' },
        },
        { event: 'nothing', at: '2026-01-01T01:59:59.999999Z' },
      ]);
      const destination = { type: 'Postgres', config };
      const { id } = await exporting.scheduled(
        home,
        { name: 'pooled', custom_query, destination },
        2,
      );
      const runs = await exporting.runAll(id);
      assert.deepEqual(
        runs.map(({ status, latest_error }) => latest_error ?? status),
        ['Completed', 'Completed'],
      );
      const { rows } = await pool.query(
        `SELECT extract(epoch FROM timestamp)::text AS at, price = 0.30000000000000004::float8 AS
          is_whole, big::text FROM ${table_name} ORDER BY 1`,
      );
      assert.deepEqual(rows, [
        { at: '1767226200.250001', is_whole: true, big: '9007199254740993' },
        { at: '1767232799.999999', is_whole: null, big: null },
      ]);
      const [finding] = await verifyExports(exporting.harness.deps.engine, id);
      assert.deepEqual([finding?.fault, finding?.differences], [null, []]);
    },
  );

test(
  'PgBouncer in statement mode is refused by name, before anything is written',
  { skip: pgBouncerMissing },
  async (t) => {
    const pool = poolOf(stores.database_url);
    t.after(() => pool.end());
    const pooler = await openPgBouncer(stores.database_url, 'statement');
    t.after(() => pooler.close());
    const access = accessTo(stores.database_url, pooler.port);
    const config = { ...access, table_name: 'by_statement', require_tls: false };
    const home = await exporting.harness.newOrganization();
    await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z' }]);
    const destination = { type: 'Postgres', config };
    const body = { name: 'pooled', interval: 'hour', destination };
    const { body: tested } = await home.ask('POST', `${projectBase(home)}test/`, body);
    const told = /^A pooler before the server gives each statement .*Set pool_mode = transaction/;
    assert.deepEqual(
      tested.steps.map(({ name, status }: Record<string, string>) => [name, status]).slice(0, 2),
      [
        ['Connect', 'failed'],
        ['Check the table', 'skipped'],
      ],
    );
    assert.match(tested.steps[0].detail, told);
    const { id } = await exporting.scheduled(home, { custom_query, destination }, 1);
    const [run] = await exporting.runAll(id);
    assert.deepEqual([run!.status, run!.error_code], ['Failed', 'statement_refused']);
    assert.match(run!.latest_error!, told);
    const { rows } = await pool.query("SELECT to_regclass('by_statement') AS found");
    assert.deepEqual(rows, [{ found: null }]);
  },
);
