import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { openPostgresServer, outcomeOf, uuidDelivery } from '../../../../test/postgres_destination.ts';
import { eventually } from '../../../../test/eventually.ts';
import type { PostgresServer } from '../../../../test/postgres_destination.ts';
import { openPostgresProxy } from '../../../../test/postgres_proxy.ts';
import { RetryableError } from '../../destination.ts';
import type { Sink } from '../../destination.ts';
import { postgres } from './postgres.ts';

let server: PostgresServer;

before(async () => {
  server = await openPostgresServer();
});
after(() => server.close());

test('a server that hangs is left at once when the run is stopped', async () => {
  const row = () => Readable.from([Buffer.from('abc\n')]);
  const waits: [string, (sink: Sink) => Promise<unknown>][] = [
    ['recover', (sink) => sink.recover([])],
    ['write', (sink) => sink.write({ number: 0, records: 1 }, row())],
    ['commit', (sink) => sink.commit([outcomeOf(0, 'abc\n')], { name: 'manifest', text: '{}' })],
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
    await assert.rejects(postgres.open(config, given, { ...server.deps, signal: stop.signal }), /stopped/);
    await assert.rejects(
      postgres.open(config, given, { ...server.deps, signal: AbortSignal.timeout(100) }),
      (error) => error instanceof RetryableError && error.code === 'timed_out',
    );
    await hanging.close();
  };
  await Promise.all(waits.map(leave));
});

test('a table that another session holds is waited for before any row is read, and the wait can be stopped', async () => {
  const config = await server.freshConfig();
  await server.pool.query(`CREATE TABLE ${config.schema}.events (uuid text)`);
  const other = await server.pool.connect();
  await other.query('BEGIN');
  await other.query(`LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE`);
  const stop = new AbortController();
  const sink = await postgres.open(config, uuidDelivery(), { ...server.deps, signal: stop.signal });
  const waiting = assert.rejects(sink.recover([]), /stopped/);
  const waiters = async () => (await other.query("SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'")).rowCount;
  const end = performance.now() + 10_000;
  while ((await waiters()) === 0) assert.ok(performance.now() < end, 'nobody waits for the table');
  stop.abort('cancelled');
  await waiting;
  await sink.close();
  await other.query('ROLLBACK');
  other.release();
});

/** A table whose first row takes the server 30 seconds: a session at it does not look whether its client is still there. */
async function sleepingTable(schema: string): Promise<void> {
  await server.pool.query(`CREATE TABLE ${schema}.events (uuid text);
    CREATE FUNCTION ${schema}.sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NEW; END';
    CREATE TRIGGER sleep BEFORE INSERT ON ${schema}.events FOR EACH ROW EXECUTE FUNCTION ${schema}.sleep()`);
}

async function sleepers(statement: string): Promise<number> {
  const found = await server.pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE $1", [`${statement}%`]);
  return found.rowCount ?? 0;
}

test('the server ends a statement as soon as the run is stopped, with TLS and without, and gives its locks back', async () => {
  const plain = await openPostgresProxy(server.socket_path, { tls: false });
  for (const changes of [{}, { port: plain.port, require_tls: false }]) {
    const config = await server.freshConfig(changes);
    await sleepingTable(config.schema);
    const stop = new AbortController();
    const sink = await postgres.open(config, uuidDelivery(), { ...server.deps, signal: stop.signal });
    const writing = assert.rejects(sink.write({ number: 0, records: 1, is_last: true }, Readable.from([Buffer.from('abc\n')])), /stopped/);
    await eventually('nobody copies', async () => (await sleepers('COPY')) === 1);
    stop.abort('cancelled');
    await writing;
    await sink.close();
    await eventually('the server goes on copying', async () => (await sleepers('COPY')) === 0);
    await server.pool.query(`SET lock_timeout = '5s'; LOCK TABLE ${config.schema}.events IN ACCESS EXCLUSIVE MODE; RESET lock_timeout`);
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
