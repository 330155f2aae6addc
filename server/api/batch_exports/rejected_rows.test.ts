import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { aroundTests } from '../../../test/around_tests.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { places_cases } from '../../../test/factories/batch_exports/destination_places.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import {
  countOf,
  foundAt,
  prepareTable,
  refusedExport,
  refusing,
  right,
} from '../../../test/factories/batch_exports/refusing_tables.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

for (const [what, { statements, refused, code, reason }] of Object.entries(refusing))
  test(`rows that ${what} refuses stop the run, or are set aside with the reason`, async () => {
    const stopping = await prepareTable(postgres, statements);
    const stopped = await refusedExport(exporting, stopping.config, refused, {});
    const [failed] = await exporting.runAll(stopped.id);
    assert.deepEqual([failed!.status, failed!.error_code], ['Failed', code]);
    assert.match(failed!.latest_error!, reason);
    assert.equal(await countOf(stopping.pool, stopping.table), 3);

    const { config, table, pool } = await prepareTable(postgres, statements);
    const { id, get } = await refusedExport(exporting, config, refused);
    const runs = await exporting.runAll(id);
    assert.deepEqual(
      runs.map(({ status, latest_error }) => [status, latest_error]),
      [
        ['Completed', null],
        ['Completed', null],
      ],
    );
    assert.equal(await countOf(pool, table), 43);
    const { body: run } = await get(`runs/${runs[0]!.id}/`);
    assert.deepEqual(
      [run.records_completed, run.records_rejected, run.records_total_count],
      [40, refused.length, 40 + refused.length],
    );
    const { body: receipt } = await get(`runs/${run.id}/receipt/`);
    assert.deepEqual(
      [receipt.source_records, receipt.records, receipt.rejected_records],
      [40 + refused.length, 40, refused.length],
    );
    const held = await pool.query(`SELECT * FROM ${table}_rejected ORDER BY number`);
    assert.deepEqual(
      held.rows.map(({ number, run_id, batch_export_id, code: told }) => [
        number,
        run_id,
        batch_export_id,
        told,
      ]),
      refused.map((_, index) => [index + 1, run.id, id, code]),
    );
    for (const row of held.rows) assert.match(row.reason, reason);
    assert.deepEqual(
      held.rows.map(({ record }) => record.event).toSorted(),
      refused.map(({ event = 'event' }) => event).toSorted(),
    );
    assert.deepEqual(await foundAt(exporting, id), right);
  });

test('a character that the database lacks is kept as JSON in ASCII', async () => {
  const home_database = postgres.pool;
  await home_database.query(
    "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
  );
  const config = { ...(await postgres.freshConfig()), schema: 'public', database: 'latin' };
  const { id, get } = await refusedExport(exporting, config, [
    { event: 'party 🎉' },
    { event: 'é' },
  ]);
  const [run] = await exporting.runAll(id);
  assert.equal(run!.status, 'Completed', run!.latest_error ?? '');
  assert.equal((await get(`runs/${run!.id}/`)).body.records_rejected, 1);
  const { connectionString = '' } = home_database.options;
  const latin = new pg.Pool({
    connectionString: connectionString.replace(/\/[^/?]*\?/, '/latin?'),
  });
  try {
    assert.equal(await countOf(latin, 'events'), 44);
    const { rows } = await latin.query<{ record: string; reason: string }>(
      'SELECT record::text, reason FROM events_rejected',
    );
    assert.equal(JSON.parse(rows[0]!.record).event, 'party 🎉');
    assert.match(rows[0]!.reason, /no equivalent in encoding "LATIN1"/);
    assert.deepEqual(await foundAt(exporting, id), right);
  } finally {
    await latin.end();
  }
});

test('too many refused rows fail the run with the first reasons; nothing is shown', async () => {
  const { config, table, pool } = await prepareTable(
    postgres,
    refusing['a CHECK constraint']!.statements,
  );
  const bad = Array.from({ length: 12 }, () => ({ event: 'bad' }));
  const { id, send } = await refusedExport(exporting, config, bad, {
    rejected_rows: 'set_aside',
    rejected_rows_max: 11,
    rejected_percent_max: 100,
  });
  const [failed] = await exporting.runAll(id);
  assert.deepEqual([failed!.status, failed!.error_code], ['Failed', 'too_many_rejected']);
  assert.match(failed!.latest_error!, /refused more than 11 rows.*violates check constraint/s);
  assert.equal(await countOf(pool, table), 3);
  // 12 of 52 rows are more than a tenth, and more than the ten that are always allowed.
  const patched = await send('PATCH', '', { rejected_rows_max: 1_000, rejected_percent_max: 10 });
  assert.equal(patched.status, 200, patched.text);
  await send('POST', `runs/${failed!.id}/retry/`);
  assert.equal((await exporting.runAll(id)).at(1)!.error_code, 'too_many_rejected');
  await send('PATCH', '', { rejected_percent_max: 30 });
  await send('POST', `runs/${failed!.id}/retry/`);
  assert.equal((await exporting.runAll(id)).at(2)!.status, 'Completed');
  assert.equal(await countOf(pool, `${table}_rejected`), 12);
  assert.deepEqual(await foundAt(exporting, id), right);
});

test('only destinations that show all parts at once set rows aside', async () => {
  const home = await exporting.harness.newOrganization();
  const refusal = async (destination: object) => {
    const body = { name: 'x', interval: 'hour', destination, rejected_rows: 'set_aside' };
    const { status, body: told } = await home.ask('POST', projectBase(home), body);
    return [status, told.attr, told.detail];
  };
  const refused = ['File', 'BigQuery', 'ClickHouse', 'HTTP'];
  for (const { type, config } of places_cases.filter((one) => refused.includes(one.type)))
    assert.deepEqual(await refusal({ type, config }), [
      400,
      'rejected_rows',
      `The destination ${type} cannot set refused rows aside; docs/rejected_rows.md says ` +
        'why, and ' +
        'what to do instead. Use "stop".',
    ]);
  const config = { ...(await postgres.freshConfig()), table_name: 'x'.repeat(60) };
  const [status, attr, detail] = await refusal({ type: 'Postgres', config });
  assert.deepEqual([status, attr], [400, 'rejected_rows']);
  assert.match(detail, /names of at most 63 bytes/);
  const { id } = await newExport(home, {
    destination: { type: 'Postgres', config: await postgres.freshConfig() },
    rejected_rows: 'set_aside',
  });
  const moved = await home.ask('PATCH', `${projectBase(home)}${id}/`, {
    destination: { type: 'File', config: { prefix: 'x' } },
  });
  assert.deepEqual([moved.status, moved.body.attr], [400, 'rejected_rows']);
});
