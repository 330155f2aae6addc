import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { isPassing, manifest } from '../../../../test/factories/batch_exports/deliveries.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  openPostgresServer,
  outcomeOf,
  uuidDelivery,
} from '../../../../test/servers/databases/postgres_destination.ts';
import { eventually } from '../../../../test/eventually.ts';
import { openPostgresProxy } from '../../../../test/servers/databases/postgres_proxy.ts';
import { NonRetryableError, RetryableError } from '../../model/destination/errors.ts';
import type { Sink } from '../../model/destination/destination.ts';
import { persons as personsModel } from '../../model/models/persons.ts';
import type { PostgresConfig } from './config.ts';
import { postgres } from './postgres.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const server = aroundTests(openPostgresServer);

test('a server that hangs is left at once when the run is stopped', async () => {
  const row = () => Readable.from([Buffer.from('abc\n')]);
  const waits: [string, (sink: Sink) => Promise<unknown>][] = [
    ['recover', (sink) => sink.recover([])],
    ['write', (sink) => sink.write({ number: 0, records: 1 }, row())],
    ['commit', (sink) => sink.commit([outcomeOf(0, 'abc\n')], manifest)],
    ['abort', (sink) => sink.abort([])],
  ];
  const leave = async ([name, wait]: (typeof waits)[number]) => {
    const hanging = await openPostgresProxy(server.socket_path, { tls: true });
    const given = uuidDelivery();
    const config = await server.freshConfig({ port: hanging.port });
    const stop = new AbortController();
    const sink = await postgres.open(config, given, { ...server.deps, signal: stop.signal });
    hanging.hold();
    const waiting = assert.rejects(wait(sink), /stopped/, name);
    stop.abort('cancelled');
    await waiting;
    await sink.close();
    await assert.rejects(
      postgres.open(config, given, { ...server.deps, signal: stop.signal }),
      /stopped/,
    );
    await assert.rejects(
      postgres.open(config, given, { ...server.deps, signal: AbortSignal.timeout(100) }),
      isPassing('timed_out'),
    );
    await hanging.close();
  };
  await Promise.all(waits.map(leave));
});

test('a write waits for a locked table before it reads, until a stop', async () => {
  const config = await server.freshConfig();
  await server.pool.query(`CREATE TABLE ${config.schema}.events (uuid text)`);
  const other = await server.pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE`);
  const stop = new AbortController();
  const sink = await postgres.open(config, uuidDelivery(), {
    ...server.deps,
    signal: stop.signal,
  });
  const waiting = assert.rejects(sink.recover([]), /stopped/);
  const waiters = async () =>
    (await other.query("SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'"))
      .rowCount;
  await eventually('nobody waits for the table', async () => (await waiters()) !== 0);
  stop.abort('cancelled');
  await waiting;
  await sink.close();
  await other.query('ROLLBACK');
  other.release();
});

/**
 * A table whose first row takes the server 30 seconds: a session at it does not look whether its
 * client is still there.
 */
async function sleepingTable(schema: string): Promise<void> {
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text);
    CREATE FUNCTION ${schema}.sleep() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(30); RETURN NEW; END';
    CREATE TRIGGER sleep BEFORE INSERT ON ${schema}.events
      FOR EACH ROW EXECUTE FUNCTION ${schema}.sleep()`);
}

async function sleepers(statement: string): Promise<number> {
  const found = await server.pool.query(
    "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE $1",
    [`${statement}%`],
  );
  return found.rowCount ?? 0;
}

test('a stop ends the statement at once, with TLS and without, and frees its locks', async () => {
  const plain = await openPostgresProxy(server.socket_path, { tls: false });
  for (const changes of [{}, { port: plain.port, require_tls: false }]) {
    const config = await server.freshConfig(changes);
    await sleepingTable(config.schema);
    const stop = new AbortController();
    const sink = await postgres.open(config, uuidDelivery(), {
      ...server.deps,
      signal: stop.signal,
    });
    const writing = assert.rejects(
      sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('abc\n')])),
      /stopped/,
    );
    await eventually('nobody copies', async () => (await sleepers('COPY')) === 1);
    stop.abort('cancelled');
    await writing;
    await sink.close();
    await eventually('the server goes on copying', async () => (await sleepers('COPY')) === 0);
    await server.pool.query(
      `SET lock_timeout = '5s'; LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE; RESET
        lock_timeout`,
    );
  }
  await plain.close();
});

test('an attempt that fails while its slices are moved ends the move at once', async () => {
  const config = await server.freshConfig();
  await sleepingTable(config.schema);
  const sink = await postgres.open(config, uuidDelivery(), server.deps);
  await sink.write({ number: 0, records: 1 }, Readable.from([Buffer.from('abc\n')]));
  await eventually('nobody moves', async () => (await sleepers('INSERT')) === 1);
  await sink.close();
  await eventually('the server goes on moving', async () => (await sleepers('INSERT')) === 0);
});

test('a refused commit is known to show nothing, one whose answer is lost is not', async () => {
  const config = await server.freshConfig();
  const { schema } = config;
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text);
    CREATE FUNCTION ${schema}.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.uuid = 'c'
      THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RAISE EXCEPTION 'no' USING
      ERRCODE = '23514'; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ${schema}.events DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.late()`);
  for (const [text, code, isCertain] of [
    ['a\n', 'constraint_violated', true],
    ['c\n', 'server_stopping', false],
  ] as const) {
    const sink = await postgres.open(config, uuidDelivery(), server.deps);
    await sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from(text)]));
    await assert.rejects(sink.commit([outcomeOf(0, 'a\n')], manifest), (error) => {
      assert.ok(error instanceof NonRetryableError || error instanceof RetryableError);
      assert.deepEqual([error.code, error.is_certain], [code, isCertain]);
      return true;
    });
    await sink.close();
  }
  await server.pool.query(
    `DROP TABLE IF EXISTS ${schema}.sluice_receipts; CREATE VIEW ${schema}.sluice_receipts AS
      SELECT gen_random_uuid() AS delivery_id, '' AS manifest WHERE false`,
  );
  const sink = await postgres.open(config, uuidDelivery(), server.deps);
  await sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('a\n')]));
  await assert.rejects(
    sink.commit([outcomeOf(0, 'a\n')], manifest),
    (error) => error instanceof NonRetryableError && error.is_certain,
  );
  await sink.close();
});

test('a table that fits no row of the export is refused before the first row', async () => {
  const config = await server.freshConfig();
  const columns = contractColumns.map(({ name }) => name);
  const text = (changes: Record<string, string>) =>
    columns.map((name) => `${name} ${changes[name] ?? ownTypes[name] ?? 'text'}`).join(', ');
  const cases: [string, string, RegExp][] = [
    [
      'wrong types',
      `CREATE TABLE % (${text({ uuid: 'bigint', event: 'date' })})`,
      /uuid is bigint, .*; the column event is date/,
    ],
    [
      'an own column that must be given',
      `CREATE TABLE % (${text({})}, own text NOT NULL)`,
      /column own must not be null/,
    ],
    [
      'a generated column',
      `CREATE TABLE % (${text({ note: "text GENERATED ALWAYS AS ('x') STORED" })})`,
      /column note is generated/,
    ],
    [
      'a view',
      `CREATE VIEW % AS SELECT
        ${columns.map((name) => `NULL::${ownTypes[name] ?? 'text'} AS ${name}`).join(', ')}`,
      /is a view/,
    ],
  ];
  for (const [name, statement, pattern] of cases) {
    await server.pool.query(statement.replace('%', `${config.schema}.events`));
    const sink = await postgres.open(
      config,
      uuidDelivery({ columns: contractColumns }),
      server.deps,
    );
    await assert.rejects(
      sink.recover([]),
      (error) =>
        error instanceof NonRetryableError &&
        error.code === 'table_unsuitable' &&
        pattern.test(error.message),
      name,
    );
    await sink.close();
    assert.match(
      await failedStep(config),
      new RegExp(`^Check the table: .*${pattern.source}`),
      name,
    );
    await server.pool.query(`DROP ${name === 'a view' ? 'VIEW' : 'TABLE'} ${config.schema}.events`);
  }
});

const ownTypes: Record<string, string> = {
  properties: 'jsonb',
  timestamp: 'timestamptz',
  amount: 'bigint',
  ratio: 'double precision',
  is_new: 'boolean',
};

async function failedStep(config: PostgresConfig, columns = contractColumns): Promise<string> {
  const step = (await postgres.check(config, columns, server.deps)).find(
    ({ status }) => status === 'failed',
  );
  return step === undefined ? 'passed' : `${step.name}: ${step.detail}`;
}

test('the connection test writes where deliveries go, and leaves nothing visible', async () => {
  const config = await server.freshConfig();
  const own = (changes: Record<string, string>) =>
    contractColumns
      .map(({ name }) => `${name} ${changes[name] ?? ownTypes[name] ?? 'text'}`)
      .join(', ');
  const cases: [string, string, RegExp][] = [
    ['too short', own({ event: 'varchar(3)' }), /^Write a row: .*too long.*column event/],
    [
      'rounded',
      own({ timestamp: 'timestamptz(0)' }),
      /^Read it back: .*timestamp \(2026-01-02T03:04:05.678901Z was written, 2026-01-02 03:04:06\+00 came back\)/,
    ],
    ['a check', `${own({})}, CHECK (amount > 1000)`, /^Write a row: .*constraint/],
    ['whole', `id bigserial, ${own({ uuid: 'uuid', event: 'varchar(100)' })}`, /^passed$/],
  ];
  for (const [name, columns, pattern] of cases) {
    await server.pool.query(`CREATE TABLE ${config.schema}.events (${columns})`);
    assert.match(await failedStep(config), pattern, name);
    assert.equal(
      (await server.pool.query(`SELECT 1 FROM ${config.schema}.events`)).rowCount,
      0,
      name,
    );
    await server.pool.query(`DROP TABLE ${config.schema}.events`);
  }
  assert.equal(
    await failedStep({ ...config, table_name: 'persons' }, personsModel.columns.tables),
    'passed',
  );
  const left = await server.pool.query(
    'SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace',
    [config.schema],
  );
  assert.deepEqual(left.rows, []);
});
