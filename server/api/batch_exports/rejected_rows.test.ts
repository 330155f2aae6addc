import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import {
  erasePerson,
  eventsWith,
  longText,
  refused_query,
  refusing_columns,
} from '../../../test/factories/batch_exports/rejected_rows.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { verifyExports } from '../../cli/verify/verify.ts';
import type { PostgresConfig } from '../../engine/destinations/postgres/config.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

type Refusing = {
  /** What refuses rows of the table, and the rows that it refuses. */
  statements: (table: string) => string[];
  refused: { event?: string; distinct_id?: string }[];
  code: string;
  reason: RegExp;
};

const partitioned = (table: string) => [
  `CREATE TABLE ${table} (${refusing_columns}) PARTITION BY RANGE (event)`,
  `CREATE TABLE ${table}_good PARTITION OF ${table} FOR VALUES FROM ('good') TO ('h')`,
];
const created = (table: string) => `CREATE TABLE ${table} (${refusing_columns})`;
const deferred = (table: string) => [
  created(table),
  `CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN IF NEW.event = 'bad' THEN RAISE 'no bad events'; END IF; RETURN NULL; END$$`,
  `CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION ${table}_refuse()`,
];

const refusing: Record<string, Refusing> = {
  'a CHECK constraint': {
    statements: (table) => [created(table), `ALTER TABLE ${table} ADD CHECK (event <> 'bad')`],
    refused: [{ event: 'bad' }, { event: 'bad' }],
    code: 'constraint_violated',
    reason: /violates check constraint/,
  },
  'an index that a long value does not fit': {
    statements: (table) => [created(table), `CREATE INDEX ON ${table} (distinct_id)`],
    refused: [{ distinct_id: longText(9_000) }],
    code: 'limit_exceeded',
    reason: /index row/,
  },
  'a missing partition': {
    statements: partitioned,
    refused: [{ event: 'bad' }, { event: 'zebra' }, { event: 'apple' }],
    code: 'constraint_violated',
    reason: /no partition of relation/,
  },
  'a length': {
    statements: (table) => [created(table), `ALTER TABLE ${table} ALTER event TYPE varchar(20)`],
    refused: [{ event: 'an event with a long name' }],
    code: 'value_refused',
    reason: /value too long/,
  },
  'a constraint that is checked with the commit': {
    statements: deferred,
    refused: [{ event: 'bad' }],
    code: 'constraint_violated',
    reason: /no bad events/,
  },
};

async function prepared(statements: Refusing['statements']) {
  const config = await postgres.freshConfig();
  const table = `${config.schema}.events`;
  for (const statement of statements(table)) await postgres.pool.query(statement);
  return { config, table, pool: postgres.pool };
}

/** An export of two hours to a table that refuses some rows of the first one. */
async function refusedExport(
  config: PostgresConfig,
  refused: Refusing['refused'],
  body: Record<string, unknown> = { rejected_rows: 'set_aside' },
  good = 40,
) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [...eventsWith(0, good, refused), ...eventsWith(1, 3, [])]);
  const destination = { type: 'Postgres', config };
  const export_ = await exporting.scheduled(
    home,
    { destination, custom_query: refused_query, ...body },
    2,
  );
  return { home, ...export_ };
}

const countOf = async (pool: pg.Pool, table: string): Promise<number> =>
  Number((await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]!.n);

async function found(id: string) {
  const [finding] = await verifyExports(exporting.harness.deps.engine, id);
  return { fault: finding!.fault, differences: finding!.differences, notes: finding!.notes };
}
const right = { fault: null, differences: [], notes: [] };

for (const [what, { statements, refused, code, reason }] of Object.entries(refusing))
  test(`rows that ${what} refuses stop the run, or are set aside with the reason`, async () => {
    const stopping = await prepared(statements);
    const stopped = await refusedExport(stopping.config, refused, {});
    const [failed] = await exporting.runAll(stopped.id);
    assert.deepEqual([failed!.status, failed!.error_code], ['Failed', code]);
    assert.match(failed!.latest_error!, reason);
    assert.equal(await countOf(stopping.pool, stopping.table), 3);

    const { config, table, pool } = await prepared(statements);
    const { id, get } = await refusedExport(config, refused);
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
    assert.deepEqual(await found(id), right);
  });

test('a character that the database lacks is kept as JSON in ASCII', async () => {
  const home_database = postgres.pool;
  await home_database.query(
    "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0",
  );
  const config = { ...(await postgres.freshConfig()), schema: 'public', database: 'latin' };
  const { id, get } = await refusedExport(config, [{ event: 'party 🎉' }, { event: 'é' }]);
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
    assert.deepEqual(await found(id), right);
  } finally {
    await latin.end();
  }
});

test('too many refused rows fail the run with the first reasons; nothing is shown', async () => {
  const { config, table, pool } = await prepared(refusing['a CHECK constraint']!.statements);
  const bad = Array.from({ length: 12 }, () => ({ event: 'bad' }));
  const { id, send } = await refusedExport(config, bad, {
    rejected_rows: 'set_aside',
    rejected_rows_max: 11,
    rejected_percent_max: 100,
  });
  const [failed] = await exporting.runAll(id);
  assert.deepEqual([failed!.status, failed!.error_code], ['Failed', 'too_many_rejected']);
  assert.match(failed!.latest_error!, /refused more than 11 rows.*violates check constraint/s);
  assert.equal(await countOf(pool, table), 3);
  // Of 52 rows 12 are more than a tenth, and more than the ten that are always few enough.
  const patched = await send('PATCH', '', { rejected_rows_max: 1_000, rejected_percent_max: 10 });
  assert.equal(patched.status, 200, patched.text);
  await send('POST', `runs/${failed!.id}/retry/`);
  assert.equal((await exporting.runAll(id)).at(1)!.error_code, 'too_many_rejected');
  await send('PATCH', '', { rejected_percent_max: 30 });
  await send('POST', `runs/${failed!.id}/retry/`);
  assert.equal((await exporting.runAll(id)).at(2)!.status, 'Completed');
  assert.equal(await countOf(pool, `${table}_rejected`), 12);
  assert.deepEqual(await found(id), right);
});

test('rejected rows are delivered again once, and what is still refused stays', async () => {
  const { config, table, pool } = await prepared(refusing['a missing partition']!.statements);
  const { home, id, get, send } = await refusedExport(config, [
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
  assert.deepEqual(await found(id), right);
  // Whoever asks again gets the rest, and no row twice.
  await pool.query(`CREATE TABLE ${table}_z PARTITION OF ${table} FOR VALUES FROM ('z') TO ('zz')`);
  assert.equal((await redeliver(run!.id)).status, 200);
  await exporting.runAll(id);
  assert.equal(await countOf(pool, table), 46);
  assert.equal(await countOf(pool, `${table}_rejected`), 0);
  assert.equal((await redeliver(run!.id)).status, 409);
  assert.deepEqual(await found(id), right);
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

test('of several slices an attempt that is broken off leaves nothing twice', async () => {
  const { config, table, pool } = await prepared(refusing['a CHECK constraint']!.statements);
  const bad = [{ event: 'bad' }, { event: 'bad' }];
  const { home, id, get } = await refusedExport(config, bad);
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
  assert.deepEqual(await found(id), right);
  // As after a restore from an older backup: the source has the rows no more.
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id}
      SETTINGS mutations_sync = 2`,
  });
  assert.deepEqual((await found(id)).differences, []);
});

test('an erased person leaves the rejected rows too', async () => {
  const { config, table, pool } = await prepared(refusing['a CHECK constraint']!.statements);
  const { home, id } = await refusedExport(config, [
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
  assert.deepEqual(await found(id), right);
});

test('verify names a rejected row that is gone, and knows its slice by the digest', async () => {
  const { config, table, pool } = await prepared(refusing['a CHECK constraint']!.statements);
  const { home, id } = await refusedExport(config, [{ event: 'bad' }]);
  await exporting.runAll(id);
  await pool.query(`DELETE FROM ${table}_rejected`);
  const { differences } = await found(id);
  assert.deepEqual(
    differences.map(({ kind, detail }) => [kind, detail]),
    [
      ['missing', '1 rows of this delivery were rejected, and 0 are there.'],
      ['missing', 'The row is gone.'],
    ],
  );
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id} AND event = 'good 0'
      SETTINGS mutations_sync = 2`,
  });
  // The digest of the receipt is that of the rows that were delivered.
  const gone = await found(id);
  assert.deepEqual(
    gone.differences.map(({ detail }) => detail),
    ['1 rows of this delivery were rejected, and 0 are there.'],
  );
});

test('only destinations that name the row can set rows aside', async () => {
  const home = await exporting.harness.newOrganization();
  const refusal = async (destination: object) => {
    const body = { name: 'x', interval: 'hour', destination, rejected_rows: 'set_aside' };
    const { status, body: told } = await home.ask('POST', projectBase(home), body);
    return [status, told.attr, told.detail];
  };
  assert.deepEqual(await refusal({ type: 'File', config: { prefix: 'x' } }), [
    400,
    'rejected_rows',
    'The destination File does not say which rows it refuses, so Sluice cannot set them aside. ' +
      'Use "stop".',
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
