import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import {
  countOf,
  foundAt,
  prepareTable,
  refusedExport,
  refusing,
  right,
} from '../../../test/factories/batch_exports/refusing_tables.ts';
import { erasePerson } from '../../../test/factories/batch_exports/rejected_rows.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

test('rejected rows are delivered again once, and what is still refused stays', async () => {
  const { config, table, pool } = await prepareTable(
    postgres,
    refusing['a missing partition']!.statements,
  );
  const { home, id, get, send } = await refusedExport(exporting, config, [
    { event: 'bad' },
    { event: 'zebra' },
    { event: 'apple' },
  ]);
  const [run, whole] = await exporting.runAll(id);
  const redeliver = (run_id: string) => send('POST', `runs/${run_id}/redeliver_rejected/`);
  assert.equal((await redeliver(whole!.id)).status, 409);
  await pool.query(`CREATE TABLE ${table}_a PARTITION OF ${table} FOR VALUES FROM ('a') TO ('c')`);
  const uuid = (event: string) =>
    pool.query<{ uuid: string }>(`SELECT record ->> 'uuid' AS uuid FROM ${table}_rejected
      WHERE record ->> 'event' = '${event}'`);
  const state = async (wanted: string) => {
    const { body } = await home.ask('GET', `/api/projects/${home.project.id}/find/?uuid=${wanted}`);
    return body.records[0].exports[0].state;
  };
  const [bad, zebra] = [await uuid('bad'), await uuid('zebra')].map(({ rows }) => rows[0]!.uuid);
  assert.deepEqual([await state(bad!), await state(zebra!)], ['rejected', 'rejected']);
  const asked = await redeliver(run!.id);
  assert.equal(asked.status, 200, asked.text);
  assert.equal((await redeliver(run!.id)).status, 409);
  await exporting.runAll(id);
  const { body: again } = await get(`runs/${asked.body.id}/`);
  assert.deepEqual(
    [again.status, again.records_completed, again.records_rejected, again.latest_error],
    ['Completed', 42, 1, null],
  );
  assert.equal(await countOf(pool, table), 45);
  const left = await pool.query(`SELECT record ->> 'event' AS event FROM ${table}_rejected`);
  assert.deepEqual(left.rows, [{ event: 'zebra' }]);
  assert.deepEqual([await state(bad!), await state(zebra!)], ['delivered', 'rejected']);
  assert.deepEqual(await foundAt(exporting, id), right);
  // Whoever asks again gets the rest, and no row twice.
  await pool.query(`CREATE TABLE ${table}_z PARTITION OF ${table} FOR VALUES FROM ('z') TO ('zz')`);
  assert.equal((await redeliver(run!.id)).status, 200);
  await exporting.runAll(id);
  assert.equal(await countOf(pool, table), 46);
  assert.equal(await countOf(pool, `${table}_rejected`), 0);
  assert.equal((await redeliver(run!.id)).status, 409);
  assert.deepEqual(await foundAt(exporting, id), right);
});

/** Cuts the run of the first hour into three slices, as if it had millions of rows. */
async function cut(run_id: string, records: [number, number, number]): Promise<void> {
  const { db } = exporting.harness.deps;
  const at = ['00:00:00', '00:20:00', '00:35:00', '01:00:00'].map((time) => `2026-01-01T${time}Z`);
  for (const [number, count] of records.entries())
    await db.run(sql`INSERT INTO batch_export_slices (run_id, number, inserted_from, inserted_to,
      records) VALUES (${run_id}, ${number}, ${at[number]}, ${at[number + 1]}, ${count})`);
  const total = records.reduce((sum, count) => sum + count, 0);
  await db.run(sql`UPDATE batch_export_runs SET records_total_count = ${total}
    WHERE id = ${run_id}`);
}

test('a broken attempt over several slices leaves nothing twice', async () => {
  const { config, table, pool } = await prepareTable(
    postgres,
    refusing['a CHECK constraint']!.statements,
  );
  const bad = [{ event: 'bad' }, { event: 'bad' }];
  const { home, id, get } = await refusedExport(exporting, config, bad);
  const [planned] = await exporting.plan(id);
  await cut(planned!.id, [12, 15, 15]);
  // The receipt is written last, with all rows and the rejected ones before it.
  await pool.query(`
    CREATE TABLE ${config.schema}.sluice_receipts (delivery_id uuid PRIMARY KEY,
      batch_export_id uuid NOT NULL, run_id uuid NOT NULL, table_name text NOT NULL,
      records bigint NOT NULL, manifest text NOT NULL,
      delivered_at timestamptz NOT NULL DEFAULT now());
    CREATE SEQUENCE ${config.schema}.tries;
    CREATE FUNCTION ${config.schema}.fail() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN IF nextval('${config.schema}.tries') = 1 THEN
        RAISE 'not now' USING ERRCODE = '40001'; END IF; RETURN NEW; END$$;
    CREATE TRIGGER fail BEFORE INSERT ON ${config.schema}.sluice_receipts
      FOR EACH ROW EXECUTE FUNCTION ${config.schema}.fail()`);
  const [failed] = await exporting.runAll(id);
  assert.deepEqual([failed!.status, failed!.error_code], ['Running', 'conflict']);
  assert.equal(await countOf(pool, table), 3);
  await exporting.harness.deps.db.run(sql`UPDATE batch_export_runs SET due_at = now()
    WHERE batch_export_id = ${id}`);
  const [run] = await exporting.runAll(id);
  assert.deepEqual([run!.status, run!.attempt], ['Completed', 2]);
  const { body: receipt } = await get(`runs/${run!.id}/receipt/`);
  assert.deepEqual(
    receipt.slices.map((slice: Record<string, number>) => [slice.records, slice.rejected_records]),
    [
      [12, undefined],
      [13, 2],
      [15, undefined],
    ],
  );
  assert.deepEqual([await countOf(pool, table), await countOf(pool, `${table}_rejected`)], [43, 2]);
  assert.deepEqual(await foundAt(exporting, id), right);
  // As after a restore from an older backup: the source has the rows no more.
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id}
      SETTINGS mutations_sync = 2`,
  });
  assert.deepEqual((await foundAt(exporting, id)).differences, []);
});

test('an erased person leaves the rejected rows too', async () => {
  const { config, table, pool } = await prepareTable(
    postgres,
    refusing['a CHECK constraint']!.statements,
  );
  const { home, id } = await refusedExport(exporting, config, [
    { event: 'bad', distinct_id: 'ada' },
    { event: 'bad', distinct_id: 'bob' },
    { event: 'fine', distinct_id: 'ada' },
  ]);
  await exporting.runAll(id);
  assert.equal(await countOf(pool, `${table}_rejected`), 2);
  const done = await erasePerson(exporting, home, id, 'ada');
  assert.deepEqual(done.copies, { waiting: 0, rewriting: 0, rewritten: 1, yours: 0 });
  const left = await pool.query(`SELECT record ->> 'distinct_id' AS who FROM ${table}_rejected`);
  assert.deepEqual(left.rows, [{ who: 'bob' }]);
  assert.equal(await countOf(pool, `${table} WHERE distinct_id = 'ada'`), 0);
  const run = await exporting.harness.deps.db.row<{
    records_completed: number;
    records_rejected: number;
  }>(sql`
    SELECT records_completed, records_rejected FROM batch_export_runs
    WHERE batch_export_id = ${id} AND replaces IS NOT NULL`);
  assert.deepEqual(run, { records_completed: 40, records_rejected: 1 });
  assert.deepEqual(await foundAt(exporting, id), right);
});

test('verify names a rejected row that is gone, and knows its slice by the digest', async () => {
  const { config, table, pool } = await prepareTable(
    postgres,
    refusing['a CHECK constraint']!.statements,
  );
  const { home, id } = await refusedExport(exporting, config, [{ event: 'bad' }]);
  await exporting.runAll(id);
  await pool.query(`DELETE FROM ${table}_rejected`);
  const { differences } = await foundAt(exporting, id);
  assert.deepEqual(
    differences.map(({ kind, detail }) => [kind, detail]),
    [
      ['missing', 'Rejected rows: 1 in the receipt, 0 in the table.'],
      ['missing', 'The row is gone.'],
    ],
  );
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id} AND event = 'good 0'
      SETTINGS mutations_sync = 2`,
  });
  // The digest of the receipt is that of the rows that were delivered.
  const gone = await foundAt(exporting, id);
  assert.deepEqual(
    gone.differences.map(({ detail }) => detail),
    ['Rejected rows: 1 in the receipt, 0 in the table.'],
  );
});
