import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { foundAt, right } from '../../../../test/factories/batch_exports/refusing_tables.ts';
import { openPostgresServer } from '../../../../test/servers/databases/postgres_destination.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const merging = {
  mode: 'merge',
  primary_key: ['order_id'],
  version_key: ['n', 'timestamp'],
  custom_query: `SELECT event, properties.order AS order_id, toInt(properties.n) AS n,
    timestamp, inserted_at FROM events`,
};
/** An event about an order in the first, second or third hour. */
const about = (hour: number, event: string, properties: object, minute = 10) => ({
  event,
  at: `2026-01-01T0${hour}:${minute}:00.000000Z`,
  properties,
});

async function tableOf(schema: string | undefined) {
  const { rows } = await postgres.pool.query<{ order_id: string; event: string }>(
    `SELECT order_id, event FROM ${schema}.events ORDER BY order_id`,
  );
  return rows.map(({ order_id, event }) => `${order_id} ${event}`);
}

test('the table has the greatest version of each key, also after late rows', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [
    about(0, 'placed', { order: 'a', n: 1 }),
    about(0, 'paid', { order: 'a', n: 2 }, 11),
    about(0, 'placed', { order: 'b', n: 5 }),
    about(1, 'late', { order: 'a', n: 1 }),
    about(1, 'unknown', { order: 'b' }),
    about(2, 'shipped', { order: 'a', n: 3 }),
    about(2, 'placed', { order: 'A', n: 1 }),
  ]);
  const config = await postgres.freshConfig();
  const destination = { type: 'Postgres', config };
  const { id, send, get } = await exporting.scheduled(home, { ...merging, destination });
  const runs = await exporting.runAll(id);
  assert.deepEqual(
    runs.map(({ status, latest_error }) => [status, latest_error]),
    runs.map(() => ['Completed', null]),
  );
  const expected = ['A placed', 'a shipped', 'b placed'].toSorted();
  assert.deepEqual((await tableOf(config.schema)).toSorted(), expected);
  assert.deepEqual(await foundAt(exporting, id), right);
  // All rows once more, in runs of another size: nothing changes.
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z', mode: 'all' };
  const begun = await send('POST', 'backfill/', range);
  assert.equal(begun.status, 200, begun.text);
  await exporting.advance(id, begun.body.backfill_id);
  assert.deepEqual((await tableOf(config.schema)).toSorted(), expected);
  assert.deepEqual(await foundAt(exporting, id), right);
  const { body: receipt } = await get(`runs/${runs[0]!.id}/receipt/`);
  assert.equal(receipt.records, 3);
});

test('a row without its key is refused by the name of the column, or set aside', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [
    about(0, 'placed', { order: 'a', n: 1 }),
    about(0, 'lost', { n: 1 }),
  ]);
  const config = await postgres.freshConfig();
  const destination = { type: 'Postgres', config };
  const stopping = await exporting.scheduled(home, { ...merging, destination }, 1);
  const [failed] = await exporting.runAll(stopping.id);
  assert.deepEqual([failed!.status, failed!.error_code], ['Failed', 'null_key']);
  assert.match(failed!.latest_error!, /1 row without a value of `order_id`/);

  const body = { ...merging, destination, rejected_rows: 'set_aside' };
  const aside = await exporting.scheduled(home, body, 1);
  const [run] = await exporting.runAll(aside.id);
  assert.equal(run!.status, 'Completed', run!.latest_error ?? '');
  assert.deepEqual(await tableOf(config.schema), ['a placed']);
  const held = await postgres.pool.query<{ record: { event: string }; reason: string }>(
    `SELECT record, reason FROM ${config.schema}.events_rejected`,
  );
  assert.deepEqual(
    held.rows.map(({ record }) => record.event),
    ['lost'],
  );
  assert.match(held.rows[0]!.reason, /order_id/);
  assert.deepEqual(await foundAt(exporting, aside.id), right);
});

test('a table whose key takes null is refused before anything is written', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [about(0, 'placed', { order: 'a', n: 1 })]);
  const config = await postgres.freshConfig();
  await postgres.pool.query(
    `CREATE TABLE ${config.schema}.events (event text, order_id text UNIQUE, n bigint,
      timestamp timestamptz, inserted_at timestamptz)`,
  );
  const destination = { type: 'Postgres', config };
  const { id } = await exporting.scheduled(home, { ...merging, destination }, 1);
  const [failed] = await exporting.runAll(id);
  assert.deepEqual([failed!.status, failed!.error_code], ['Failed', 'table_unsuitable']);
  assert.match(failed!.latest_error!, /merged by \(order_id\).*NOT NULL/);
});
